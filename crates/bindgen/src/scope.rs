//! Keeps names apart, so that what is generated compiles: [`names`](crate::names) writes some names otherwise than the
//! description does, and two that differ there can be one here.

use std::collections::HashMap;

use crate::error::Problem;

/// The names of one scope, each as every language writes it.
#[derive(Debug)]
pub(crate) struct Scope {
    /// What the names are of: "parameter".
    kind: &'static str,
    /// What is written, and which name that stands for.
    written: HashMap<String, String>,
}

impl Scope {
    pub(crate) fn new(kind: &'static str) -> Scope {
        Scope { kind, written: HashMap::new() }
    }

    /// Adds a name that is written in these forms.
    ///
    /// # Errors
    /// If one of them stands for a name that was added before.
    pub(crate) fn add(&mut self, name: &str, forms: &[String]) -> Result<(), Problem> {
        for form in forms {
            if let Some(other) = self.written.get(form) {
                let (kind, name, other, form) = (self.kind, name.to_owned(), other.clone(), form.clone());
                return Err(Problem::NameTaken { kind, name, other, form });
            }
        }
        self.written.extend(forms.iter().map(|form| (form.clone(), name.to_owned())));
        Ok(())
    }

    /// Whether something is written so.
    pub(crate) fn has(&self, form: &str) -> bool {
        self.written.contains_key(form)
    }
}
