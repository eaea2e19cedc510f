//! Tables of figures in the forms that they are published in: for measurements that are not of programs.

use std::fmt::Write as _;

use anyhow::Result;
use peer_common::figures::{Figure, Figures, Table};
use serde::Serialize;

use crate::chart::Chart;
use crate::host::Host;
use crate::page;
use crate::publish::Published;
use crate::report::EngineReport;
use crate::statistics::Estimate;
use crate::toolchain::Toolchain;

/// Some tables, and what they were measured with.
#[derive(Debug, Serialize)]
pub(crate) struct FiguresReport {
    pub(crate) title: &'static str,
    pub(crate) host: Host,
    pub(crate) engines: Vec<EngineReport>,
    pub(crate) toolchains: Vec<Toolchain>,
    /// Of what is no engine of the harness.
    pub(crate) versions: Vec<String>,
    pub(crate) figures: Figures,
    /// In words.
    pub(crate) failures: Vec<String>,
}

impl FiguresReport {
    /// Of what a program of its own has measured.
    pub(crate) fn of_program(
        title: &'static str,
        host: Host,
        versions: Vec<String>,
        figures: Figures,
    ) -> FiguresReport {
        FiguresReport {
            title,
            host,
            engines: Vec::new(),
            toolchains: Vec::new(),
            versions,
            figures,
            failures: Vec::new(),
        }
    }

    pub(crate) fn publish(&self) -> Result<Published> {
        let mut page = format!("# {}\n", self.title);
        let mut charts = Vec::new();
        for table in &self.figures.tables {
            let _ = writeln!(page, "\n## {}\n\nIn {}. {}\n", table.title, table.unit, table.about);
            if let Some((unit, value)) = &table.beside {
                let _ = writeln!(page, "The second number is in {unit}, of {value:.2} {}.\n", table.unit);
            }
            if let Some(svg) = chart(table).svg() {
                let file = format!("{}.svg", table.name);
                let _ = writeln!(page, "![{}]({file})\n", table.title);
                charts.push((file, svg));
            }
            let header: Vec<String> = std::iter::once(&"engine".to_owned()).chain(&table.columns).cloned().collect();
            let row = |(engine, figures): &(String, Vec<Option<Figure>>)| {
                let cells = figures.iter().map(|figure| figure.map_or("-".into(), |figure| shown(table, figure.value)));
                std::iter::once(engine.clone()).chain(cells).collect()
            };
            page::table(&mut page, &header, &table.rows.iter().map(row).collect::<Vec<_>>());
        }
        if !self.figures.missing.is_empty() {
            page += "\n## What is missing\n\n";
            for (engine, reason) in &self.figures.missing {
                let _ = writeln!(page, "- {engine}: {reason}");
            }
        }
        if !self.versions.is_empty() {
            let _ = writeln!(page, "\nVersions:\n\n- {}", self.versions.join("\n- "));
        }
        page::environment(&mut page, false, &self.engines, &self.toolchains, &self.host);
        let json = serde_json::to_string_pretty(self)? + "\n";
        Ok(Published { page, json, charts, failures: self.failures.clone() })
    }
}

fn shown(table: &Table, value: f64) -> String {
    let number = |value: f64| match value {
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    };
    match &table.beside {
        Some((_, unit)) => format!("{} ({})", number(value), number(value / unit)),
        None => number(value),
    }
}

fn chart(table: &Table) -> Chart {
    let estimate = |figure: &Figure| Estimate { median: figure.value, low: figure.low, high: figure.high };
    let group = |(index, column): (usize, &String)| {
        let values = table.rows.iter().map(|(_, figures)| figures.get(index)?.as_ref().map(estimate)).collect();
        (column.clone(), values)
    };
    Chart {
        title: table.title.clone(),
        unit: table.unit.clone(),
        series: table.rows.iter().map(|(engine, _)| engine.clone()).collect(),
        groups: table.columns.iter().enumerate().map(group).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_shown_beside_the_unit_it_is_measured_in() {
        let mut table = Table {
            name: "t".into(),
            title: "T".into(),
            about: String::new(),
            unit: "nanoseconds".into(),
            beside: Some(("bare calls".into(), 2.0)),
            columns: vec!["nop".into(), "none".into()],
            rows: vec![("engine".into(), vec![Some(Figure { value: 25.0, low: 25.0, high: 30.0 }), None])],
        };
        assert_eq!(shown(&table, 25.0), "25.0 (12.5)");
        table.beside = None;
        assert_eq!(shown(&table, 250.0), "250");
        assert!(chart(&table).svg().unwrap().contains("engine"));
    }
}
