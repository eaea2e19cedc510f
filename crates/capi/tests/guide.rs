//! The guide's snippets in C and C++ compile. Each page that has some has a file in `tests/guide/`, which declares what its
//! snippets use, and has them in the places of its lines `GUIDE 1`, `GUIDE 2` and so on.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{COMPILERS, folder, here, root, run};

/// The name of a language in the guide, and its compilers with the oldest standard that the guide speaks of.
const LANGUAGES: [(&str, [&str; 2], &str); 2] =
    [("c", [COMPILERS[0][0], COMPILERS[1][0]], "-std=c99"), ("cpp", [COMPILERS[0][1], COMPILERS[1][1]], "-std=c++20")];

fn pages() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs/guide")).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

fn snippets(page: &Path, language: &str) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let opening = format!("\n```{language}\n");
    text.split(&opening).skip(1).map(|part| part.split("```").next().unwrap().to_owned()).collect()
}

/// The page's file, with its snippets in it.
fn filled(frame: &Path, snippets: &[String]) -> String {
    let text = fs::read_to_string(frame).unwrap_or_else(|error| panic!("{}: {error}", frame.display()));
    let mut used = BTreeSet::new();
    let mut filled = String::new();
    for line in text.lines() {
        let number = line.trim().strip_prefix("GUIDE ").map(|number| number.parse::<usize>().unwrap());
        match number {
            Some(number) => {
                assert!(used.insert(number), "{}: snippet {number} twice", frame.display());
                filled.push_str(&snippets[number - 1]);
            }
            None => filled.push_str(&format!("{line}\n")),
        }
    }
    assert_eq!(used.len(), snippets.len(), "{} leaves out snippets", frame.display());
    filled
}

#[test]
fn snippets_of_the_guide_compile() {
    let folder = folder();
    let mut count = 0;
    for (language, compilers, standard) in LANGUAGES {
        for page in pages() {
            let snippets = snippets(&page, language);
            if snippets.is_empty() {
                continue;
            }
            count += snippets.len();
            let name = page.with_extension(language).file_name().unwrap().to_owned();
            let source = folder.path().join(&name);
            fs::write(&source, filled(&here().join("tests/guide").join(&name), &snippets)).unwrap();
            for compiler in compilers {
                let mut command = Command::new(compiler);
                command.args([standard, "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
                command.args(["-Wno-unused-parameter", "-fsyntax-only", "-I"]);
                run(command.arg(here().join("include")).arg(&source));
            }
        }
    }
    assert!(count >= 4, "the guide has {count} snippets in C and C++");
}
