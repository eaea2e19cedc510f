//! Imports and exports.

use crate::common::gcc;
use riverrun_program::{Image, LoadError, crc32};

fn image(flags: &[&str]) -> Image {
    let freestanding = ["-nostdlib", "-static", "-march=rv64gc"];
    Image::parse(gcc("boundary.S", &[&freestanding, flags].concat())).unwrap()
}

fn assert_first_program(image: &Image) {
    let imports: Vec<(u32, String)> = image.imports().unwrap().iter().map(|it| (it.index, it.to_string())).collect();
    let expected = [(2, "Game::exit".to_owned()), (7, "empty: i32 (f32, ptr)".to_owned())];
    assert_eq!(imports, expected);
    let exports = image.exports().unwrap();
    let update = image.symbol("update").unwrap().address;
    assert_eq!(exports.len(), 1, "equal records are one: {exports:?}");
    assert_eq!(exports[0].to_string(), format!("update at {update:#x}: void ()"));
}

#[test]
fn records_are_read() {
    assert_first_program(&image(&[]));
}

#[test]
fn records_of_position_independent_programs_are_read() {
    let flags = ["-nostdlib", "-static-pie", "-fPIE", "-Wl,--no-dynamic-linker"];
    let image = Image::parse(gcc("boundary.S", &flags)).unwrap();
    assert!(image.is_position_independent());
    assert_first_program(&image);
}

#[test]
fn programs_without_records_have_none() {
    let image = Image::parse(riverrun_program::doc::TINY).unwrap();
    assert_eq!((image.imports().unwrap(), image.exports().unwrap()), (vec![], vec![]));
}

#[test]
fn wrong_records_are_refused_by_name() {
    let refused = |flags: &[&str], words: &[&str]| {
        let image = image(flags);
        let error = image.imports().err().or(image.exports().err()).unwrap_or_else(|| panic!("{flags:?} is accepted"));
        let text = error.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{flags:?}: {text}");
        error
    };
    let error = refused(&["-DINDEX=2"], &["number 2", "`empty: i32 (f32, ptr)`", "`Game::exit`"]);
    assert!(matches!(error, LoadError::Conflict { .. }), "{error:?}");
    refused(&["-DHASH=1"], &["import empty", "0x00000001", "0x68c73dc4"]);
    refused(&["-DINDEX=0x10000"], &["import empty", "65536"]);
    refused(&["-DSIGNATURE=\"int ()\""], &["record 0", "import empty", "`int` is no type"]);
    refused(&["-DSIGNATURE=\"\\377\""], &["import empty", "its signature", "is not UTF-8"]);
    refused(&["-DUPDATE=update+1"], &["export update", "where no instruction can be"]);
    refused(&["-DUPDATE=0"], &["export update is at 0x0"]);
    refused(&["-DUPDATE=_start"], &["name update", "update at 0x"]);
    refused(&["-DCUT"], &[".riverrun.imports", "76 bytes are not whole records of 24"]);
}

#[test]
fn hashes_are_crc32() {
    assert_eq!(crc32("empty"), 0x68c7_3dc4);
    assert_eq!(crc32("Game::exit"), 0xbda9_e89e);
}

/// The documentation's programs are what their sources say.
#[test]
fn the_examples_are_built_from_their_sources() {
    let flags = ["-nostdlib", "-static", "-s", "-Wl,--build-id=none,-z,max-page-size=4096"];
    for (source, bytes) in [("adder.S", riverrun_program::doc::ADDER), ("scorer.S", riverrun_program::doc::SCORER)] {
        assert!(
            gcc(&format!("../../src/doc/{source}"), &flags) == bytes,
            "{source} and its .elf differ: build it again"
        );
    }
}
