//! `riverrun inspect`: a program's segments, instruction set and symbols.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use riverrun::image::{Attributes, FloatAbi, Image, Printable, Symbol, SymbolKind};
use riverrun::{Config, Engine, Program};
use serde::Serialize;

use crate::disassemble::{self, Instruction};
use crate::options::InspectOptions;
use crate::{Result, run, steps};

/// Prints the parts that the options select on standard output.
pub(crate) fn inspect(options: &InspectOptions) -> Result<ExitCode> {
    let program = run::load(&Engine::new(&Config::new())?, &options.program)?;
    if let Some(steps) = &options.steps {
        return steps::show(&program, steps, options);
    }
    let mut out = BufWriter::new(io::stdout().lock());
    if options.json {
        let inspection = Inspection::new(&program, options)?;
        serde_json::to_writer(&mut out, &inspection).map_err(io::Error::from)?;
        writeln!(out)?;
    } else if options.symbols || options.listing.is_some() {
        if options.symbols {
            print_symbols(program.image(), &mut out)?;
        }
        if let Some(listing) = &options.listing {
            disassemble::print(program.image(), listing, &mut out)?;
        }
    } else {
        Overview::of(program.image()).print(&mut out)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The output of `--json`.
#[derive(Serialize)]
struct Inspection<'a> {
    #[serde(flatten)]
    overview: Overview<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbols: Option<Vec<SymbolRow<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<Vec<Instruction>>,
}

impl<'a> Inspection<'a> {
    fn new(program: &'a Program, options: &InspectOptions) -> Result<Inspection<'a>> {
        let image = program.image();
        let instructions = match &options.listing {
            Some(listing) => Some(disassemble::instructions(image, listing)?.collect()),
            None => None,
        };
        let symbols = options.symbols.then(|| image.symbols().map(SymbolRow::of).collect());
        Ok(Inspection { overview: Overview::of(image), symbols, instructions })
    }
}

/// The program in short.
#[derive(Serialize)]
struct Overview<'a> {
    entry: u64,
    position_independent: bool,
    load_bias: u64,
    isa: Option<&'a str>,
    extensions: Vec<&'a str>,
    float_abi: &'static str,
    compressed_instructions: bool,
    build_id: Option<String>,
    segments: Vec<SegmentRow>,
    thread_local_bytes: u64,
    symbol_count: usize,
    debug_info: bool,
    unwind_tables: bool,
}

#[derive(Serialize)]
struct SegmentRow {
    index: usize,
    address: u64,
    memory_size: u64,
    file_size: u64,
    permissions: String,
}

#[derive(Serialize)]
struct SymbolRow<'a> {
    address: u64,
    size: u64,
    kind: &'static str,
    name: &'a str,
}

impl<'a> SymbolRow<'a> {
    fn of(symbol: Symbol<'a>) -> SymbolRow<'a> {
        let kind = match symbol.kind {
            SymbolKind::Function => "function",
            SymbolKind::Resolver => "resolver",
            SymbolKind::Object => "object",
            SymbolKind::Label => "label",
        };
        SymbolRow { address: symbol.address, size: symbol.size, kind, name: symbol.name }
    }
}

impl<'a> Overview<'a> {
    fn of(image: &'a Image) -> Overview<'a> {
        let attributes: &Attributes = image.attributes();
        let segments = image.segments().iter().map(|segment| SegmentRow {
            index: segment.index,
            address: segment.address,
            memory_size: segment.memory_size,
            file_size: segment.file.len() as u64,
            permissions: segment.permissions.to_string(),
        });
        Overview {
            entry: image.entry(),
            position_independent: image.is_position_independent(),
            load_bias: image.bias(),
            isa: attributes.arch.as_deref(),
            extensions: attributes.extensions(),
            float_abi: match image.flags().float_abi() {
                FloatAbi::Soft => "lp64",
                FloatAbi::Single => "lp64f",
                FloatAbi::Double => "lp64d",
                FloatAbi::Quad => "lp64q",
            },
            compressed_instructions: image.flags().has_compressed_instructions(),
            build_id: image.build_id().map(hexadecimal),
            segments: segments.collect(),
            thread_local_bytes: image.tls().map_or(0, |tls| tls.memory_size),
            symbol_count: image.symbols().len(),
            debug_info: image.section(".debug_info").is_some(),
            unwind_tables: image.section(".eh_frame").or(image.section(".debug_frame")).is_some(),
        }
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let kind = if self.position_independent { "static, position-independent" } else { "static" };
        let yes_no = |is| if is { "yes" } else { "no" };
        writeln!(out, "kind           {kind}")?;
        writeln!(out, "entry          {:#x}", self.entry)?;
        writeln!(out, "isa            {}", Printable(self.isa.unwrap_or("not recorded")))?;
        let compressed =
            if self.compressed_instructions { "compressed instructions" } else { "no compressed instructions" };
        writeln!(out, "abi            {}, {compressed}", self.float_abi)?;
        writeln!(out, "build id       {}", self.build_id.as_deref().unwrap_or("none"))?;
        writeln!(out, "thread-local   {} bytes", self.thread_local_bytes)?;
        writeln!(out, "symbols        {}", self.symbol_count)?;
        writeln!(out, "debug info     {}", yes_no(self.debug_info))?;
        writeln!(out, "unwind tables  {}", yes_no(self.unwind_tables))?;
        writeln!(out, "\nsegment     address      memory        file  permissions")?;
        for segment in &self.segments {
            let SegmentRow { index, address, memory_size, file_size, permissions } = segment;
            writeln!(out, "{index:>7}  {address:>#10x}  {memory_size:>#10x}  {file_size:>#10x}  {permissions}")?;
        }
        Ok(())
    }
}

fn print_symbols(image: &Image, out: &mut impl Write) -> Result<()> {
    for symbol in image.symbols() {
        let SymbolRow { address, size, kind, name } = SymbolRow::of(symbol);
        writeln!(out, "{address:08x} {size:>8} {kind:<8} {}", Printable(name))?;
    }
    Ok(())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
