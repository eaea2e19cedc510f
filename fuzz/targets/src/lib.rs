//! What the fuzz targets have in common.
#![forbid(unsafe_code)]

/// Adds inputs to begin with to the corpus, if there is one: the driver names its folder in the
/// environment. Nothing is written when a single input is run again.
pub fn seed(inputs: impl IntoIterator<Item = Vec<u8>>) {
    let Some(folder) = std::env::var_os("RIVERRUN_FUZZ_SEEDS") else { return };
    for (number, input) in inputs.into_iter().enumerate() {
        let path = std::path::Path::new(&folder).join(format!("seed-{number}"));
        std::fs::write(&path, input).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
}
