//! Small programs for tests.

use riverrun_program::Image;
use riverrun_testkit::tools;

use crate::analysis::{Abilities, Function, Text, functions};
use crate::budget::Budget;

/// Options for a source in assembly.
pub(crate) const ASSEMBLY: &[&str] = &["-march=rv64gc", "-xassembler"];

/// What a compiler makes of a source.
pub(crate) fn elf(source: &str, options: &[&str]) -> Vec<u8> {
    let folder = std::env::temp_dir();
    let folder = folder.to_str().expect("a name in UTF-8");
    let source = tools::Scratch::new(folder, source.as_bytes());
    tools::compile(folder, source.path(), options)
}

/// The same as an image.
pub(crate) fn image(source: &str, options: &[&str]) -> Image {
    Image::parse(elf(source, options)).expect("a program")
}

/// Its text, for a host that can all.
pub(crate) fn text(image: &Image) -> Text<'_> {
    Text::new(image, Abilities { rounds: true, fuses: true })
}

/// The functions of an image.
pub(crate) fn functions_of(image: &Image) -> Vec<Function> {
    functions(&text(image), &Budget::default())
}

/// The function at the entry of a program in assembly.
pub(crate) fn first_function(source: &str) -> Function {
    let image = image(source, ASSEMBLY);
    let start = image.entry();
    functions_of(&image).into_iter().find(|function| function.start == start).expect("a function at the entry")
}
