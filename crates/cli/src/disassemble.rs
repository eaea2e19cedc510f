//! `riverrun inspect --disassemble`, `--semantics`: a program's instructions, one a line.

use std::io::Write;
use std::ops::Range;
use std::rc::Rc;

use riverrun::image::{Image, Printable, SymbolKind, demangle};
use riverrun_isa::{Style, decode, disassemble_with, length, semantics};
use serde::Serialize;

use crate::Result;
use crate::options::Listing;

/// One instruction.
#[derive(Serialize)]
pub(crate) struct Instruction {
    address: u64,
    /// Its length in bytes.
    length: u8,
    bits: u32,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    semantics: Option<String>,
}

impl Instruction {
    /// Its guest address.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Its assembly text, on one line.
    pub(crate) fn line(&self) -> String {
        self.text.replace('\t', " ")
    }
}

/// Prints the listing as objdump does.
pub(crate) fn print(image: &Image, listing: &Listing, out: &mut impl Write) -> Result<()> {
    let mut labels = image.symbols().filter(|symbol| symbol.kind != SymbolKind::Object).peekable();
    for instruction in instructions(image, listing)? {
        let Instruction { address, length, bits, text, semantics } = &instruction;
        let mut label = None;
        while let Some(symbol) = labels.next_if(|symbol| symbol.address <= *address) {
            // The last of several at one address is the best.
            label = (symbol.address == *address).then_some(symbol.name);
        }
        if let Some(name) = label {
            writeln!(out, "\n{address:016x} <{}>:", Printable(&demangle(name)))?;
        }
        let bits = if *length == 2 { format!("{bits:04x}") } else { format!("{bits:08x}") };
        match semantics {
            Some(semantics) => writeln!(out, "{address:8x}:\t{bits:<8}\t{:<32}\t{semantics}", text.replace('\t', " "))?,
            None => writeln!(out, "{address:8x}:\t{bits:<8}\t{text}")?,
        }
    }
    Ok(())
}

/// The instructions of a listing, in order of address.
///
/// # Errors
/// If the place is not in the program's text.
pub(crate) fn instructions(image: &Image, listing: &Listing) -> Result<impl Iterator<Item = Instruction>> {
    let ranges = match &listing.place {
        Some(place) => vec![find(image, place)?],
        None => image.text().to_vec(),
    };
    let style = if listing.raw { Style::Raw } else { Style::Aliases };
    let starts: Rc<[u64]> = image.symbols().map(|symbol| symbol.address).collect();
    let semantics = listing.semantics;
    Ok(ranges.into_iter().flat_map(move |range| Walk { image, style, semantics, starts: starts.clone(), range }))
}

/// Iterates over the instructions of a range of text.
struct Walk<'a> {
    image: &'a Image,
    style: Style,
    semantics: bool,
    /// The addresses of symbols, sorted: an instruction begins at each, whatever data is before it.
    starts: Rc<[u64]>,
    /// The remaining addresses.
    range: Range<u64>,
}

impl Iterator for Walk<'_> {
    type Item = Instruction;

    fn next(&mut self) -> Option<Instruction> {
        let address = self.range.start;
        let parcel = |at: u64| {
            let bytes = self.image.text_bytes(at..at.checked_add(2)?)?;
            Some(u32::from(u16::from_le_bytes(bytes.try_into().ok()?)))
        };
        if address >= self.range.end {
            return None;
        }
        let low = parcel(address)?;
        let whole = length(low);
        // What is data before a symbol is cut there.
        let within = self.starts.binary_search(&(address + 2)).is_err();
        let (length, bits) = match (whole, parcel(address + 2)) {
            (4, Some(high)) if within => (4, high << 16 | low),
            (_, _) => (2, low),
        };
        self.range.start += u64::from(length);
        let symbol = |target| symbol_name(self.image, target);
        let text = match length == whole {
            true => disassemble_with(bits, address, self.style, symbol).to_string(),
            false => format!(".2byte\t{bits:#x}"),
        };
        let semantics = decode(bits).filter(|_| self.semantics).map(|inst| semantics(&inst, address));
        Some(Instruction { address, length, bits, text, semantics })
    }
}

/// `main+0x10`.
fn symbol_name(image: &Image, address: u64) -> Option<String> {
    let (symbol, offset) = image.symbol_at(address)?;
    let name = Printable(&demangle(symbol.name)).to_string();
    Some(if offset == 0 { name } else { format!("{name}+{offset:#x}") })
}

/// The addresses of a place: a symbol, `0x10400` (the function there) or `0x10400..0x10480`.
pub(crate) fn find(image: &Image, place: &str) -> Result<Range<u64>> {
    let address = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let range = if let Some((start, end)) = place.split_once("..")
        && let (Some(start), Some(end)) = (address(start), address(end))
    {
        // Instructions begin at even addresses.
        start & !1..end
    } else if let Some(address) = address(place) {
        function_at(image, address).unwrap_or(address & !1..address.saturating_add(1))
    } else {
        let demangled = || image.symbols().find(|symbol| demangle(symbol.name) == place);
        let symbol = image.symbol(place).or_else(demangled).ok_or_else(|| {
            format!(
                "no symbol is named {place}; riverrun inspect --symbols lists them, and 0x10400..0x10480 is a range"
            )
        })?;
        function_at(image, symbol.address).unwrap_or(symbol.address..symbol.address)
    };
    let in_text = image.text().iter().find(|text| text.start <= range.start && range.start < text.end);
    let text = in_text.filter(|_| !range.is_empty()).ok_or_else(|| {
        let text: Vec<String> = image.text().iter().map(|text| format!("{:#x}..{:#x}", text.start, text.end)).collect();
        format!("{place}: no instructions there; the program's are in {}", text.join(", "))
    })?;
    Ok(range.start..range.end.min(text.end))
}

/// The addresses of the function or label that an address belongs to.
fn function_at(image: &Image, address: u64) -> Option<Range<u64>> {
    let (symbol, _) = image.symbol_at(address)?;
    let end = match symbol.size {
        // As far as the next symbol.
        0 => image.symbols().map(|next| next.address).find(|&next| next > symbol.address).unwrap_or(u64::MAX),
        size => symbol.address.saturating_add(size),
    };
    Some(symbol.address..end)
}
