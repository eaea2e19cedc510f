//! Source lines, names, build ids and attributes of real programs.

use crate::common::{gcc, gxx};
use riverrun_program::{Attributes, Frame, Image, SourceLocation, SymbolKind, demangle};

const FREESTANDING: [&str; 4] = ["-g", "-O1", "-nostdlib", "-static"];

/// (function, file name, line) of every place.
fn brief(places: &[SourceLocation]) -> Vec<(&str, &str, u32)> {
    let name = |path: &'_ str| path.rfind('/').map_or(0, |slash| slash + 1);
    let brief = |place: &'_ SourceLocation| {
        let file = place.file.as_deref().unwrap();
        (place.function.as_deref().unwrap().to_owned(), file[name(file)..].to_owned(), place.line.unwrap())
    };
    places.iter().map(brief).map(|(a, b, c)| (a.leak() as &str, b.leak() as &str, c)).collect()
}

/// The address of the store to `sink`, which was inlined twice.
fn store_address(image: &Image) -> u64 {
    let work = image.symbol("work").unwrap();
    (work.address..work.address + work.size)
        .step_by(2)
        .find(|&address| image.locate(address).len() == 3)
        .expect("no instruction of `work` was inlined from `store`")
}

#[test]
fn inlined_functions_come_innermost_first() {
    let image = Image::parse(gcc("inlined.c", &FREESTANDING)).unwrap();
    let places = image.locate(store_address(&image));
    let expected = [("store", "inlined.c", 4), ("store_square", "inlined.c", 8), ("work", "inlined.c", 12)];
    assert_eq!(brief(&places), expected);
    assert!(places[0].file.as_ref().unwrap().ends_with("tests/guests/inlined.c"));

    let frame = Frame { pc: store_address(&image), is_return_address: false };
    let description = image.describe(frame);
    assert_eq!(description.function.as_deref(), Some("work"));
    let text = description.to_string();
    assert!(text.starts_with(&format!("{:#x} store at /", frame.pc)), "{text}");
    assert!(text.contains("inlined into work at /"), "{text}");
    assert!(text.contains("inlined.c:12:"), "{text}");
}

#[test]
fn static_pie_has_the_same_lines_elsewhere() {
    let flags = ["-g", "-O1", "-nostdlib", "-static-pie", "-fPIE", "-Wl,--no-dynamic-linker"];
    let pie = Image::parse(gcc("inlined.c", &flags)).unwrap();
    assert!(pie.bias() > 0);
    let fixed = Image::parse(gcc("inlined.c", &FREESTANDING)).unwrap();
    assert_eq!(brief(&pie.locate(store_address(&pie))), brief(&fixed.locate(store_address(&fixed))));
}

#[test]
fn return_addresses_belong_to_the_call_before() {
    let image = Image::parse(gcc("inlined.c", &FREESTANDING)).unwrap();
    let work = image.symbol("work").unwrap();
    let end = Frame { pc: work.address + work.size, is_return_address: true };
    let description = image.describe(end);
    assert_eq!(description.function.as_deref(), Some("work"));
    assert_eq!(description.offset, work.size);
}

#[test]
fn without_debug_information_there_are_no_lines() {
    let image = Image::parse(gcc("inlined.c", &["-O1", "-nostdlib", "-static"])).unwrap();
    let work = image.symbol("work").unwrap().address;
    assert_eq!(image.locate(work), []);
    assert_eq!(image.locate(0), []);
    let description = image.describe(Frame { pc: work, is_return_address: false });
    assert_eq!(description.to_string(), format!("{work:#x} work+0x0"));
    let nowhere = image.describe(Frame { pc: 0, is_return_address: false });
    assert_eq!(nowhere.to_string(), "0x0 ?");
}

#[test]
fn cpp_names_are_readable() {
    let image = Image::parse(gxx("throws.cpp", &["-g", "-O1", "-static"])).unwrap();
    let hurt = image.symbol("_ZN4game6Player4hurtEi").unwrap();
    assert_eq!(hurt.kind, SymbolKind::Function);
    assert_eq!(demangle(hurt.name), "game::Player::hurt(int)");
    let description = image.describe(Frame { pc: hurt.address, is_return_address: false });
    assert_eq!(description.function.as_deref(), Some("game::Player::hurt(int)"));
    // The declaration or the comparison, as the scheduler likes.
    assert!(matches!(description.locations[0].line, Some(5 | 6)));
    // No name of libstdc++ and glibc makes the demangler fall over.
    let readable = image.symbols().filter(|symbol| demangle(symbol.name).contains("std::"));
    let count = readable.count();
    assert!(count > 100, "{count}");
}

#[test]
fn build_id_and_attributes() {
    let flags = ["-static", "-nostdlib", "-Wl,--build-id=0x0123456789abcdef"];
    let image = Image::parse(gcc("inlined.c", &flags)).unwrap();
    assert_eq!(image.build_id(), Some(&0x0123_4567_89ab_cdef_u64.to_be_bytes()[..]));
    let attributes = image.attributes();
    assert_eq!(attributes.stack_align, Some(16));
    assert!(attributes.arch.as_ref().unwrap().starts_with("rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0"));
    assert_eq!(attributes.extensions()[..6], ["i", "m", "a", "f", "d", "c"]);

    let plain = ["-static", "-nostdlib", "-Wl,--build-id=none"];
    assert_eq!(Image::parse(gcc("start.s", &plain)).unwrap().build_id(), None);
}

#[test]
fn extension_names_without_underscores_or_versions() {
    let extensions = |arch: &str| {
        let attributes = Attributes { arch: Some(arch.into()), ..Attributes::default() };
        attributes.extensions().join(" ")
    };
    assert_eq!(extensions("rv64imafdc_zba_zicond1p0"), "i m a f d c zba zicond");
    assert_eq!(extensions("rv64i2p1m2p0_p0p9_svinval"), "i m p svinval");
    assert_eq!(extensions("rv64"), "");
    assert_eq!(extensions("rv64i__é2p_zp2p"), "i é p zp2p");
    assert_eq!(Attributes::default().extensions(), [""; 0]);
}
