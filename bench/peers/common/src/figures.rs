//! What programs that measure small things hand over to the harness: tables of figures.

use serde::{Deserialize, Serialize};

/// All tables of a program.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Figures {
    /// In the order of the report.
    pub tables: Vec<Table>,
    /// Peers that could not be measured, with the reason.
    pub missing: Vec<(String, String)>,
}

/// Engines beside each other.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Table {
    /// A name for files.
    pub name: String,
    /// A heading.
    pub title: String,
    /// What the figures are, in sentences.
    pub about: String,
    /// What the figures count: `nanoseconds`.
    pub unit: String,
    /// Something that all figures are also shown in, with its value.
    pub beside: Option<(String, f64)>,
    /// What was measured.
    pub columns: Vec<String>,
    /// Engines, with a figure for each column that they have one for.
    pub rows: Vec<(String, Vec<Option<Figure>>)>,
}

/// A figure and its spread.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Figure {
    /// What is shown.
    pub value: f64,
    /// As the table's `about` says.
    pub low: f64,
    /// As the table's `about` says.
    pub high: f64,
}

impl Figure {
    /// The least of some samples, and how far the middle one lies above it; `None` of no samples.
    pub fn least(samples: &[f64]) -> Option<Figure> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let least = *sorted.first()?;
        Some(Figure { value: least, low: least, high: sorted[sorted.len() / 2] })
    }
}
