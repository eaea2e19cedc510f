//! The documents that tests of this crate check.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate lies in crates/")
}

/// The paths of all documents from the root. Reports of measurements are written by programs.
pub(crate) fn all() -> Vec<String> {
    let fixed = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "bench/README.md",
        "examples/requests/README.md",
        "examples/rollback/README.md",
    ];
    let mut paths: Vec<String> = fixed.map(str::to_owned).to_vec();
    for folder in ["docs", "docs/decisions", "docs/guide"] {
        let found = files(&root().join(folder), false, &["md"]);
        paths.extend(found.iter().map(|path| path.strip_prefix(root()).unwrap().display().to_string()));
    }
    paths.sort();
    paths
}

/// The files of a folder whose names end in one of these extensions; those in folders below it, too, if it is `deep`.
pub(crate) fn files(folder: &Path, deep: bool, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if deep && !path.ends_with("target") {
                found.extend(files(&path, deep, extensions));
            }
        } else if path.extension().is_some_and(|extension| extensions.iter().any(|wanted| extension == *wanted)) {
            found.push(path);
        }
    }
    found.sort();
    found
}
