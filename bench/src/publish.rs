//! Where reports go: to `out/bench/`, or, to be kept with the sources, to `docs/measurements/` and into the README.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use crate::options::Topic;

/// A report in the forms that it is published in.
pub(crate) struct Published {
    /// Markdown.
    pub(crate) page: String,
    pub(crate) json: String,
    /// File names and SVG.
    pub(crate) charts: Vec<(String, String)>,
    /// In words.
    pub(crate) failures: Vec<String>,
}

/// The reports of one command.
pub(crate) struct Publisher {
    root: PathBuf,
    folder: PathBuf,
    is_kept: bool,
    page: String,
    json: Map<String, Value>,
}

impl Published {
    /// Says of the report that it is of a subset.
    pub(crate) fn subset(mut self) -> Result<Published> {
        let behind_title = self.page.find('\n').map_or(0, |end| end + 1);
        self.page.insert_str(behind_title, SUBSET);
        let mut json: Map<String, Value> = serde_json::from_str(&self.json)?;
        json.insert("subset".into(), true.into());
        self.json = serde_json::to_string_pretty(&json)? + "\n";
        Ok(self)
    }

    /// Without what is of this machine only: where the sources lie, and where is built.
    pub(crate) fn anywhere(mut self, root: &Path, cargo_folder: &Path) -> Published {
        for text in [&mut self.page, &mut self.json] {
            for (folder, name) in [(cargo_folder, "target"), (root, ".")] {
                *text = text.replace(&*folder.to_string_lossy(), name);
            }
        }
        self
    }
}

/// Said below the title of each report that is one.
const SUBSET: &str = "\n**A subset** (`--quick`): little work, few programs and rounds, and riverrun's compiled code \
                      without most of its options. It shows that all works, and is not for comparison.\n";

/// Where the README has what [`crate::report::Report::summary`] says, and the file that has the same.
const MARKS: [&str; 2] = ["<!-- measured: bench/README.md says how -->\n", "<!-- /measured -->\n"];
const SUMMARY: &str = "speed.md";

impl Publisher {
    /// For reports that are to be kept with the sources, or not.
    pub(crate) fn new(is_kept: bool) -> Publisher {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = root.join(if is_kept { "docs/measurements" } else { "out/bench" });
        Publisher { root, folder, is_kept, page: String::new(), json: Map::new() }
    }

    /// Writes a topic's report into its folder.
    pub(crate) fn write(&mut self, topic: Topic, made: &Published) -> Result<()> {
        let folder = self.folder.join(topic.name());
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        fs::write(folder.join("report.md"), &made.page)?;
        fs::write(folder.join("report.json"), &made.json)?;
        for (name, svg) in &made.charts {
            fs::write(folder.join(name), svg)?;
        }
        self.page += &below(&made.page, topic.name());
        self.page.push('\n');
        self.json.insert(topic.name().to_owned(), serde_json::from_str(&made.json)?);
        Ok(())
    }

    /// Writes the summary, and into the README, if reports are kept.
    pub(crate) fn summarize(&self, summary: &str) -> Result<()> {
        if self.is_kept {
            let readme = self.root.join("README.md");
            let text = fs::read_to_string(&readme).context("README.md")?;
            fs::write(&readme, marked(&text, summary).context("README.md has no place for measurements")?)?;
            fs::write(self.folder.join(SUMMARY), summary)?;
        }
        Ok(())
    }

    /// Writes all topics' reports into one, unless they are kept: a table that is published later would contradict it.
    pub(crate) fn finish(self) -> Result<()> {
        if self.is_kept {
            return Ok(());
        }
        fs::write(self.folder.join("report.md"), self.page)?;
        fs::write(self.folder.join("report.json"), serde_json::to_string_pretty(&Value::Object(self.json))? + "\n")?;
        eprintln!("report: {}", self.folder.join("report.md").display());
        Ok(())
    }
}

/// The page as part of one in the folder above: its pictures are in `folder`.
fn below(page: &str, folder: &str) -> String {
    page.lines()
        .map(|line| match line.strip_prefix("![").and_then(|rest| rest.split_once("](")) {
            Some((title, file)) => format!("![{title}]({folder}/{file}\n"),
            None => format!("{line}\n"),
        })
        .collect()
}

/// The text with what stands between the marks replaced.
fn marked(text: &str, new: &str) -> Option<String> {
    let (before, rest) = text.split_once(MARKS[0])?;
    let (_, after) = rest.split_once(MARKS[1])?;
    Some([before, MARKS[0], new, MARKS[1], after].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_found_from_the_folder_above() {
        assert_eq!(below("a\n![T](t.svg)\nb ](c\n", "heap"), "a\n![T](heap/t.svg)\nb ](c\n");
    }

    #[test]
    fn a_subset_says_so() {
        let made = Published { page: "# T\n\na".into(), json: "{\"a\": 1}".into(), charts: vec![], failures: vec![] };
        let made = made.subset().unwrap();
        assert!(made.page.starts_with("# T\n\n**A subset**") && made.page.ends_with("\n\na"), "{}", made.page);
        let json: Value = serde_json::from_str(&made.json).unwrap();
        assert_eq!(json, serde_json::json!({"a": 1, "subset": true}));
    }

    #[test]
    fn what_is_of_this_machine_only_is_left_out() {
        let text = |text: &str| text.to_owned();
        let made =
            Published { page: text("-I/a/b/bench/x"), json: text("/a/b/target/y"), charts: vec![], failures: vec![] };
        let made = made.anywhere(Path::new("/a/b"), Path::new("/a/b/target"));
        assert_eq!((made.page.as_str(), made.json.as_str()), ("-I./bench/x", "target/y"));
    }

    #[test]
    fn what_is_between_the_marks_is_replaced() {
        let text = format!("a\n{}old\n{}b\n", MARKS[0], MARKS[1]);
        let expected = format!("a\n{}new\n{}b\n", MARKS[0], MARKS[1]);
        assert_eq!(marked(&text, "new\n"), Some(expected.clone()));
        assert_eq!(marked(&expected, "new\n"), Some(expected));
        assert_eq!(marked("a", "new\n"), None);
    }
}
