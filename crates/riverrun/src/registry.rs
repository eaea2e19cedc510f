//! The host functions of a linker, by name, number and hash, and the tables that a machine makes of them.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::ptr;
use std::sync::Arc;

use riverrun_program::{Signature, crc32};
use riverrun_vm::{Bound, DYNAMIC_CALL, HASH_MIN, HostFunction, Import, SlotFunction, VmContext};

use crate::error::{Error, LinkError};
use crate::program::Program;

/// The code of a host function, in two versions. Which one engines call is decided when a machine is made.
#[derive(Clone, Copy, Debug)]
pub struct HostCode {
    /// For guests that cannot observe the float environment in which it runs.
    pub plain: HostFunction,
    /// For others: it uses floats in the host's environment ([`crate::raw::with_host_floats`]).
    pub guarded: HostFunction,
    /// Whether the function's environment begins with a [`SlotFunction`](crate::raw::SlotFunction) that is equivalent
    /// to `plain`. Such a function has at most five parameters and one result, all in integer registers.
    pub takes_slots: bool,
}

impl HostCode {
    /// Code that uses no floats.
    pub fn without_floats(code: HostFunction) -> HostCode {
        HostCode::new(code, code)
    }

    /// Code for guests that cannot observe the float environment, and code for others.
    pub fn new(plain: HostFunction, guarded: HostFunction) -> HostCode {
        HostCode { plain, guarded, takes_slots: false }
    }

    /// Whether the two versions differ.
    pub(crate) fn uses_floats(&self) -> bool {
        !std::ptr::fn_addr_eq(self.plain, self.guarded)
    }

    /// The version that engines call.
    pub(crate) fn of(&self, guards_floats: bool) -> HostFunction {
        if guards_floats { self.guarded } else { self.plain }
    }
}

/// A host function as stored in a linker.
pub(crate) struct Closure {
    pub(crate) signature: Signature,
    pub(crate) code: HostCode,
    pub(crate) environment: Arc<dyn Any + Send + Sync>,
}

/// A registered host function.
#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) name: Arc<str>,
    pub(crate) signature: Signature,
    code: HostCode,
    environment: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.signature)
    }
}

impl Function {
    /// The import of this function for the machine `context`.
    pub(crate) fn import(&self, context: *mut (), guards_floats: bool) -> Import {
        Import { code: self.code.of(guards_floats), environment: Arc::as_ptr(&self.environment).cast(), context }
    }

    /// The same as an entry of a machine's table.
    fn bound(&self, context: *mut (), guards_floats: bool) -> Bound {
        let import = self.import(context, guards_floats);
        let bound = Bound { import, slot_code: None, slot_data: ptr::null_mut() };
        if guards_floats || !self.code.takes_slots {
            return bound;
        }
        // SAFETY: `HostCode::takes_slots` promises that the environment begins with one.
        let SlotFunction { data, code } = unsafe { *import.environment.cast() };
        Bound { slot_code: Some(code), slot_data: data, ..bound }
    }
}

/// All functions of a linker; machines keep the ones they were made with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry {
    functions: Vec<Function>,
    /// How many of them, the first ones, are in every registry.
    own: usize,
    by_name: HashMap<Arc<str>, usize>,
    /// By a7 of a system call: its number, or the hash of a name.
    by_number: HashMap<u32, usize>,
    /// Whether one of them may use floats.
    uses_floats: bool,
}

impl Registry {
    /// A registry with the functions that every linker has.
    pub(crate) fn new(own: impl IntoIterator<Item = (&'static str, Closure)>) -> Registry {
        let mut registry = Registry::default();
        for (name, closure) in own {
            registry.add(name, closure).expect("their names are different");
            registry.own += 1;
        }
        registry
    }

    pub(crate) fn add(&mut self, name: &str, closure: Closure) -> Result<(), LinkError> {
        let hash = crc32(name);
        if hash < HASH_MIN {
            return Err(LinkError::Hash { name: name.to_owned(), hash });
        }
        self.put(hash, name, closure)
    }

    pub(crate) fn add_numbered(&mut self, number: u32, closure: Closure) -> Result<(), LinkError> {
        if number >= HASH_MIN || u64::from(number) == DYNAMIC_CALL {
            return Err(LinkError::Number { number });
        }
        self.put(number, &format!("system call {number}"), closure)
    }

    fn put(&mut self, number: u32, name: &str, closure: Closure) -> Result<(), LinkError> {
        if let Some(&other) = self.by_number.get(&number) {
            let other = self.functions[other].name.to_string();
            return Err(match &*other == name {
                true => LinkError::Duplicate { name: other },
                false => LinkError::Collision { first: other, second: name.to_owned(), hash: number },
            });
        }
        let name: Arc<str> = name.into();
        let Closure { signature, code, environment } = closure;
        self.uses_floats |= code.uses_floats();
        self.by_name.insert(name.clone(), self.functions.len());
        self.by_number.insert(number, self.functions.len());
        self.functions.push(Function { name, signature, code, environment });
        Ok(())
    }

    /// Whether the host has no functions: then the guest knows nothing of such.
    pub(crate) fn is_empty(&self) -> bool {
        self.functions.len() == self.own
    }

    /// Whether one of them may use floats.
    pub(crate) fn uses_floats(&self) -> bool {
        self.uses_floats
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<&Function> {
        Some(&self.functions[*self.by_name.get(name)?])
    }

    /// The function that a system call with this in a7 means, if that is one of them. Hashes may stand in
    /// a register with their sign extended.
    pub(crate) fn by_number(&self, a7: u64) -> Option<&Function> {
        let low = a7 as u32;
        let is_extended = a7 == u64::from(low) || a7 == low as i32 as u64;
        let index = self.by_number.get(&low).filter(|_| is_extended)?;
        Some(&self.functions[*index])
    }

    /// The function of an import.
    pub(crate) fn by_environment(&self, environment: *const ()) -> Option<&Function> {
        self.functions.iter().find(|function| Arc::as_ptr(&function.environment).cast::<()>() == environment)
    }

    /// The table of a program's imports, each at its number, for the machine `context`.
    pub(crate) fn bind(
        &self,
        program: &Program,
        state: *mut VmContext,
        context: *mut (),
        guards_floats: bool,
    ) -> Result<Box<[Bound]>, Error> {
        let wanted = program.imports();
        let len = wanted.last().map_or(0, |last| last.index as usize + 1);
        let mut imports = vec![Bound::unbound(state); len].into_boxed_slice();
        for import in wanted {
            let Some(function) = self.by_name(&import.name) else {
                let signature = import.signature.as_ref().map(Signature::to_string);
                return Err(LinkError::Missing { name: import.name.clone(), signature }.into());
            };
            if let Some(guest) = import.signature.as_ref().filter(|&guest| *guest != function.signature) {
                return Err(LinkError::Import {
                    name: import.name.clone(),
                    guest: guest.to_string(),
                    host: function.signature.to_string(),
                }
                .into());
            }
            imports[import.index as usize] = function.bound(context, guards_floats);
        }
        Ok(imports)
    }

    /// Has engines call in all these, of a machine, what guards its floats.
    pub(crate) fn guard_floats(&self, imports: &mut [Bound]) {
        for bound in imports {
            if let Some(function) = self.by_environment(bound.import.environment) {
                *bound = function.bound(bound.import.context, true);
            }
        }
    }
}
