//! Real programs of the stock cross compiler, as `Image` sees them.

use crate::common::gcc;
use riverrun_program::{Binding, FloatAbi, Image, PAGE_SIZE, STATIC_PIE_BIAS, Segment, SymbolKind};

fn shared_between_threads<T: Send + Sync>(_: &T) {}

#[test]
fn static_glibc_program() {
    let file = gcc("hello.c", &["-O1", "-static"]);
    let image = Image::parse(file.as_slice()).unwrap();
    shared_between_threads(&image);

    assert_eq!(image.bytes(), file);
    assert_eq!(image.bias(), 0);
    assert!(!image.is_position_independent());
    assert!(image.flags().has_compressed_instructions());
    assert_eq!(image.flags().float_abi(), FloatAbi::Double);

    let [text, data] = image.segments() else { panic!("{:?}", image.segments()) };
    assert_eq!((text.address, text.permissions.to_string().as_str()), (0x10000, "r-x"));
    assert_eq!(data.permissions.to_string(), "rw-");
    assert!(data.memory_size > data.file.len() as u64, "no .bss");
    assert_eq!(image.data(text), &file[text.file.clone()]);
    assert_eq!(image.text(), [text.addresses()]);
    assert!(image.is_text(image.entry()));
    assert!(!image.is_text(data.address));
    assert!(!image.is_text(text.address - 1));
    assert!(!image.is_text(text.addresses().end));

    let entry = image.entry();
    let start = (entry - text.address) as usize;
    assert_eq!(image.text_bytes(entry..entry + 4), Some(&image.data(text)[start..start + 4]));
    assert_eq!(image.text_bytes(data.address..data.address + 4), None);
    assert_eq!(image.text_bytes(entry..u64::MAX), None);
    let end = text.addresses().end;
    assert_eq!(image.text_bytes(end - 2..end + 2), None);
    let short = |at: u64| u32::from(u16::from_le_bytes(image.text_bytes(at..at + 2).unwrap().try_into().unwrap()));
    for at in (text.address..end - 2).step_by(2) {
        let low = short(at);
        assert_eq!(image.instruction_bits(at), Ok(if low & 3 == 3 { short(at + 2) << 16 | low } else { low }));
    }
    assert_eq!(
        [entry + 1, end, data.address].map(|at| image.instruction_bits(at)),
        [entry + 1, end, data.address].map(Err)
    );
    // Half an instruction.
    let last = if short(end - 2) & 3 == 3 { Err(end) } else { Ok(short(end - 2)) };
    assert_eq!(image.instruction_bits(end - 2), last);

    // The program headers follow the ELF header in the first segment.
    let headers = image.program_headers();
    assert_eq!(headers.address, Some(0x10000 + 64));
    assert_eq!((headers.entry_size, headers.count), (56, u16::from_le_bytes([file[56], file[57]])));

    let tls = image.tls().unwrap();
    assert!(data.addresses().contains(&tls.address));
    assert!(tls.memory_size >= tls.file_size && tls.file_size >= 4);
    assert!(tls.alignment.is_power_of_two());
    assert!(image.end() >= data.addresses().end && image.end() - data.addresses().end < PAGE_SIZE);
}

#[test]
fn pages_cover_segments_with_their_permissions() {
    let image = Image::parse(gcc("hello.c", &["-static"])).unwrap();
    let mut end = 0;
    for pages in image.pages() {
        assert!(pages.addresses.start >= end && pages.addresses.start % PAGE_SIZE == 0);
        assert!(!(pages.permissions.write && pages.permissions.execute));
        end = pages.addresses.end;
        assert!(end % PAGE_SIZE == 0);
    }
    for segment in image.segments() {
        for address in segment.addresses().step_by(PAGE_SIZE as usize) {
            let pages = image.pages().iter().find(|pages| pages.addresses.contains(&address));
            assert_eq!(pages.unwrap().permissions, segment.permissions);
        }
    }
}

#[test]
fn symbols_by_name_and_address() {
    let image = Image::parse(gcc("hello.c", &["-O1", "-static"])).unwrap();
    let main = image.symbol("main").unwrap();
    assert_eq!((main.kind, main.binding), (SymbolKind::Function, Binding::Global));
    assert!(main.size > 8);
    assert_eq!(image.symbol_at(main.address), Some((main, 0)));
    assert_eq!(image.symbol_at(main.address + main.size - 2), Some((main, main.size - 2)));

    let square = image.symbol("square").unwrap();
    assert_eq!((square.kind, square.binding), (SymbolKind::Function, Binding::Local));
    let counter = image.symbol("counter").unwrap();
    assert_eq!((counter.kind, counter.size), (SymbolKind::Object, 4));
    assert_eq!(image.symbol_at(counter.address + 3).unwrap(), (counter, 3));
    // The offset of a thread-local variable is not an address.
    assert_eq!(image.symbol("per_thread"), None);
    assert_eq!(image.symbol("no such symbol"), None);
    assert_eq!(image.symbol(""), None);

    // One address, several names: the public one is shown.
    let printf = image.symbol("_IO_printf").unwrap();
    assert_eq!(image.symbol_at(printf.address).unwrap().0.name, "printf");
    assert_eq!(image.symbol_at(0), None);
    assert_eq!(image.symbol_at(u64::MAX), None);

    let all: Vec<_> = image.symbols().collect();
    assert!(all.is_sorted_by_key(|symbol| symbol.address));
    for symbol in &all {
        assert_eq!(image.symbol(symbol.name).unwrap().name, symbol.name);
    }
    assert!(all.iter().all(|symbol| !symbol.name.starts_with(['$'])));
}

#[test]
fn labels_reach_to_the_next_symbol() {
    let image = Image::parse(gcc("labels.s", &["-static", "-nostdlib"])).unwrap();
    let start = image.symbol("_start").unwrap();
    assert_eq!((start.kind, start.size), (SymbolKind::Label, 0));
    let inner = image.symbol("inner").unwrap();
    assert_eq!(image.symbol_at(inner.address - 4).unwrap().0, start);
    assert_eq!(image.symbol_at(inner.address + 4).unwrap(), (inner, 4));
    // A label inside a function of known size does not hide the function's name.
    let outer = image.symbol("outer").unwrap();
    let nested = image.symbol("nested").unwrap();
    assert_eq!(image.symbol_at(nested.address + 4).unwrap(), (outer, nested.address + 4 - outer.address));
}

#[test]
fn static_pie() {
    let file = gcc("start.s", &["-nostdlib", "-static-pie", "-Wl,--no-dynamic-linker"]);
    let image = Image::parse(file.as_slice()).unwrap();
    assert!(image.is_position_independent());
    assert_eq!(image.bias(), STATIC_PIE_BIAS);
    assert_eq!(image.segments()[0].address, STATIC_PIE_BIAS);
    assert_eq!(image.symbol("_start").unwrap().address, image.entry());
    let answer = image.symbol("answer").unwrap().address;
    let holds_answer = |segment: &&Segment| segment.addresses().contains(&answer);
    let data = image.segments().iter().find(holds_answer).unwrap();
    let at = (answer - data.address) as usize;
    assert_eq!(image.data(data)[at..at + 4], 42_u32.to_le_bytes());
    assert_eq!(image.program_headers().address, Some(STATIC_PIE_BIAS + 64));
}

#[test]
fn static_pie_with_a_large_alignment() {
    let linker = "-Wl,--no-dynamic-linker,-z,max-page-size=0x1000000";
    let image = Image::parse(gcc("start.s", &["-nostdlib", "-static-pie", linker])).unwrap();
    assert_eq!(image.bias(), 0x1000000);
}

#[test]
fn stripped_programs_have_no_symbols_but_run() {
    let image = Image::parse(gcc("start.s", &["-static", "-nostdlib", "-s"])).unwrap();
    assert_eq!(image.symbols().len(), 0);
    assert_eq!(image.symbol_at(image.entry()), None);
    assert!(image.sections().any(|section| section.name == ".text"));
}

#[test]
fn sections_by_name() {
    let image = Image::parse(gcc("hello.c", &["-static"])).unwrap();
    let text = image.section(".text").unwrap();
    assert!((text.address..text.address + text.size).contains(&image.entry()));
    assert_eq!(text.size, text.file.len() as u64);
    let bss = image.section(".bss").unwrap();
    assert!(bss.size > 0 && bss.file.is_empty());
    assert_eq!(image.section(".nope"), None);
}
