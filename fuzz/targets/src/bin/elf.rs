//! No file makes the loader panic, nor the code that reads its symbols, lines and unwind tables, nor joining it with
//! libraries.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use riverrun_fuzz_targets::seed;
use riverrun_program::{DynamicObject, Image, JoinedProgram};
use riverrun_testkit::{Random, generate, tools};

/// Functions that are looked at in every program.
const FUNCTIONS: usize = 20;
const FRAMES: usize = 20;

/// Generated programs, and a compiled one with all that debuggers want.
fn seeds() -> Vec<Vec<u8>> {
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/testkit/tests/guests/sorting.c");
    let folder = std::env::temp_dir();
    let compiled = [&["-O2", "-g", "-fasynchronous-unwind-tables"], &["-Os", "-g0", "-fasynchronous-unwind-tables"]];
    let compiled = compiled.map(|flags| tools::compile(&folder.to_string_lossy(), &guest, flags));
    let mut random = Random::seeded(0);
    (0..10).map(|_| generate::case(&mut random).elf).chain(compiled).collect()
}

fn look(image: &Image) {
    let mut addresses = vec![image.entry()];
    for symbol in image.symbols().take(FUNCTIONS) {
        addresses.push(symbol.address);
        let name = symbol.name.to_string();
        let _ = (image.symbol(&name), riverrun_program::demangle(&name), format!("{symbol:?}"));
    }
    addresses.extend(image.text().iter().flat_map(|text| [text.start, text.end - 1]));
    for pc in addresses {
        let _ = (image.symbol_at(pc), image.locate(pc), image.is_text(pc), image.text_bytes(pc..pc.saturating_add(4)));
        // A stack on which every word is an address within the text.
        let frames = image.unwind(pc, |x| if x == 2 { 0x1000 } else { pc }, |address| Some(address ^ pc), FRAMES);
        assert!((1..=FRAMES).contains(&frames.len()));
        for frame in frames {
            let _ = image.describe(frame).to_string();
        }
    }
    for segment in image.segments() {
        assert!(image.data(segment).len() as u64 <= segment.addresses().end - segment.addresses().start);
    }
    for section in image.sections() {
        let _ = format!("{section:?}");
    }
    let _ = (image.attributes().extensions(), image.build_id(), image.pages(), image.tls(), image.end());
    let _ = (image.program_headers(), image.flags().float_abi());
}

fuzz_target!(init: seed(seeds()), |data: &[u8]| {
    match Image::parse(data) {
        Ok(image) => look(&image),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(object) = DynamicObject::parse(data) {
        let _ = (object.interpreter(), object.needed(), object.run_path(), object.text().count());
        let libraries = [object.clone(), object.clone()];
        if let Ok(joined) = JoinedProgram::new(&object, &object, &libraries) {
            let _ = Image::parse(joined.bytes);
        }
    }
});
