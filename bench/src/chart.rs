//! Bars with spread on a logarithmic scale, as SVG.

use std::fmt::Write as _;

use crate::statistics::Estimate;

/// Horizontal bars in groups.
pub(crate) struct Chart {
    pub(crate) title: String,
    /// What the scale shows.
    pub(crate) unit: String,
    /// The names of the bars of each group, in order.
    pub(crate) series: Vec<String>,
    /// A name, and for each of the series its value, if it has one.
    pub(crate) groups: Vec<(String, Vec<Option<Estimate>>)>,
}

const LABELS: f64 = 110.0;
const PLOT: f64 = 620.0;
const VALUES: f64 = 60.0;
const BAR: f64 = 9.0;
const GAP: f64 = 8.0;
const LINE: f64 = 16.0;

/// Colours that those can tell apart who see few (after Okabe and Ito), then again, lighter.
const COLOURS: [&str; 14] = [
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#999933", "#444444", "#7fb8d8", "#f2cf80",
    "#7fceb9", "#eaae7f", "#e5bcd3", "#aaaaaa",
];

impl Chart {
    /// The drawing; `None` if there is nothing to draw.
    pub(crate) fn svg(&self) -> Option<String> {
        let values = || self.groups.iter().flat_map(|(_, values)| values.iter().flatten());
        let least = values().map(|value| value.low).fold(f64::INFINITY, f64::min);
        let most = values().map(|value| value.high).fold(0.0, f64::max);
        if !least.is_finite() || least <= 0.0 {
            return None;
        }
        let (start, end) = (least.min(1.0) / 1.1, most.max(1.0) * 1.1);
        let x = |value: f64| LABELS + PLOT * (value / start).ln() / (end / start).ln();

        let top = LINE * (3.0 + self.series.len() as f64 / 4.0).ceil();
        let group_height = |values: &[Option<Estimate>]| BAR * values.iter().flatten().count() as f64 + GAP;
        let bottom = top + self.groups.iter().map(|(_, values)| group_height(values)).sum::<f64>();
        let (width, height) = (LABELS + PLOT + VALUES, bottom + 2.0 * LINE);

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height:.0}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"8\" y=\"{LINE}\" font-size=\"14\">{}</text>\n",
            escaped(&self.title)
        );
        self.legend(&mut svg);
        for tick in ticks(start, end) {
            let (at, colour) = (x(tick), if tick == 1.0 { "#333" } else { "#ddd" });
            let _ = writeln!(
                svg,
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{bottom:.1}\" stroke=\"{colour}\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>",
                top - 4.0,
                bottom + 12.0
            );
        }
        let middle = LABELS + PLOT / 2.0;
        let unit = escaped(&self.unit);
        let _ = writeln!(svg, "<text x=\"{middle}\" y=\"{:.1}\" text-anchor=\"middle\">{unit}</text>", bottom + 27.0);

        let mut y = top;
        for (name, values) in &self.groups {
            let height = group_height(values);
            let label = y + (height - GAP) / 2.0 + 4.0;
            let name = escaped(name);
            let _ = writeln!(svg, "<text x=\"{}\" y=\"{label:.1}\" text-anchor=\"end\">{name}</text>", LABELS - 6.0);
            let mut bar = y;
            for (series, value) in values.iter().enumerate() {
                let Some(value) = value else { continue };
                let (from, to) = (x(1.0).min(x(value.median)), x(1.0).max(x(value.median)));
                let (low, high, centre) = (x(value.low), x(value.high), bar + BAR / 2.0);
                let _ = writeln!(
                    svg,
                    "<rect x=\"{from:.1}\" y=\"{bar:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>\
                     <line x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{centre:.1}\" y2=\"{centre:.1}\" stroke=\"black\"/>\
                     <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"8\">{:.2}</text>",
                    to - from,
                    BAR - 1.0,
                    COLOURS[series % COLOURS.len()],
                    to.max(high) + 3.0,
                    centre + 3.0,
                    value.median
                );
                bar += BAR;
            }
            y += height;
        }
        svg += "</svg>\n";
        Some(svg)
    }

    fn legend(&self, svg: &mut String) {
        for (index, name) in self.series.iter().enumerate() {
            let (x, y) = (8.0 + 195.0 * (index % 4) as f64, LINE * (2.2 + (index / 4) as f64));
            let (colour, name) = (COLOURS[index % COLOURS.len()], escaped(name));
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\
                 <text x=\"{}\" y=\"{y:.1}\">{name}</text>",
                y - 9.0,
                x + 14.0
            );
        }
    }
}

/// Round numbers between two positive ones: 1, 2 and 5 times powers of ten.
fn ticks(start: f64, end: f64) -> Vec<f64> {
    let decades = (start.log10().floor() as i32)..=(end.log10().ceil() as i32);
    let round = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * 10.0_f64.powi(decade)));
    round.filter(|tick| (start..=end).contains(tick)).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: Vec<Option<Estimate>>) -> Chart {
        let series = vec!["a".into(), "b <c>".into()];
        Chart { title: "t".into(), unit: "times".into(), series, groups: vec![("p".into(), values)] }
    }

    #[test]
    fn a_bar_for_each_value_and_none_for_what_is_missing() {
        let value = Estimate { median: 2.0, low: 1.9, high: 2.5 };
        let svg = chart(vec![Some(value), None]).svg().unwrap();
        assert_eq!(svg.matches("stroke=\"black\"").count(), 1);
        assert!(svg.contains("b &lt;c&gt;"));
        assert!(chart(vec![None, None]).svg().is_none());
    }

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(ticks(0.9, 21.0), [1.0, 2.0, 5.0, 10.0, 20.0]);
    }
}
