//! The object file of a unit.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{self, ExternalName};
use cranelift_codegen::isa::{self, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{Context, FinalizedMachReloc, FinalizedRelocTarget};
use cranelift_frontend::FunctionBuilderContext;
use object::write::{Object, Relocation, StandardSection, Symbol, SymbolId, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, RelocationFlags, SymbolFlags, SymbolKind, SymbolScope, elf};
use riverrun_isa::{Format, Inst};
use riverrun_vm::artifact::{Header, MAX_FRAME};
use serde::{Deserialize, Serialize};

use crate::analysis::Function;
use crate::error::CompileError;
use crate::kept_objects::{KeptObjects, Key};
use crate::lift::{Surroundings, exceptions_matter, searcher};
use crate::names::Names;
use crate::options::CompileOptions;
use crate::quick::function::{Name, lift};
use crate::quick::lines::Lines;
use crate::quick::thunks;
use crate::quick::value::Mode;

/// Functions begin at multiples of this.
const ALIGNMENT: u64 = 16;

/// Cranelift's names of features, by ours, which are LLVM's.
const FEATURES: [(&str, &str); 12] = [
    ("sse3", "has_sse3"),
    ("ssse3", "has_ssse3"),
    ("sse4.1", "has_sse41"),
    ("sse4.2", "has_sse42"),
    ("cx16", "has_cmpxchg16b"),
    ("popcnt", "has_popcnt"),
    ("avx", "has_avx"),
    ("avx2", "has_avx2"),
    ("bmi", "has_bmi1"),
    ("bmi2", "has_bmi2"),
    ("lzcnt", "has_lzcnt"),
    ("fma", "has_fma"),
];

fn target(options: &CompileOptions, level: &str) -> Result<OwnedTargetIsa, CompileError> {
    let error = |error: &dyn std::fmt::Display| CompileError::Cranelift(error.to_string());
    let mut flags = settings::builder();
    let settings = [
        ("opt_level", level),
        ("enable_verifier", "false"),
        ("unwind_info", "false"),
        // r15, which has the window's address.
        ("enable_pinned_reg", "true"),
        // Tail calls need them.
        ("preserve_frame_pointers", "true"),
    ];
    for (name, value) in settings {
        flags.set(name, value).map_err(|problem| error(&problem))?;
    }
    let mut builder = isa::lookup_by_name("x86_64").map_err(|problem| error(&problem))?;
    let features = options.cpu.features();
    for (_, name) in FEATURES.iter().filter(|(feature, _)| features.has(feature)) {
        builder.enable(name).map_err(|problem| error(&problem))?;
    }
    builder.finish(settings::Flags::new(flags)).map_err(|problem| error(&problem))
}

/// Whether a function's accrued exceptions can be seen. Then nothing may be moved or left out, so it is not optimised.
fn is_strict(function: &Function, surroundings: &impl Surroundings) -> bool {
    let mut insts = function.blocks.values().flat_map(|block| &block.insts);
    (exceptions_matter(function) || surroundings.reads_exceptions()) && insts.any(|(_, inst)| is_arithmetic(inst))
}

/// Whether an instruction can raise exceptions.
fn is_arithmetic(inst: &Inst) -> bool {
    use Format::{FCmp, FR, FR1, FR4, FRx, FToX, XToF};
    matches!(inst.op.info().format, FCmp | FR | FR1 | FR4 | FRx | FToX | XToF)
}

/// A function in Cranelift's intermediate representation.
struct Lifted {
    start: u64,
    is_strict: bool,
    code: ir::Function,
    /// The symbols that it refers to, by their number in it.
    references: Vec<String>,
}

/// The machine code of a body, which is kept.
#[derive(Serialize, Deserialize)]
struct Body {
    alignment: u32,
    code: Vec<u8>,
    /// Where instructions of the guest begin in it: the place and their address.
    places: Vec<(u32, u32)>,
    references: Vec<Reference>,
}

/// A place in a body that refers to a symbol.
#[derive(Serialize, Deserialize)]
struct Reference {
    offset: u32,
    addend: i64,
    symbol: String,
}

/// Compiles functions to an object, but for the code that was kept. Adds those to `left` that are left to the interpreter, as
/// some already are.
pub(crate) fn object(
    functions: &[&Function],
    surroundings: &impl Surroundings,
    names: &Names,
    options: &CompileOptions,
    kept: Option<&KeptObjects>,
    left: &mut BTreeSet<u64>,
) -> Result<Vec<u8>, CompileError> {
    let targets = [target(options, "speed")?, target(options, "none")?];
    let mut builders = FunctionBuilderContext::new();
    let mut context = Context::new();
    let mut file = File::new(names);
    for function in functions {
        surroundings.budget().check()?;
        if left.contains(&function.start) {
            continue;
        }
        let is_strict = is_strict(function, surroundings);
        let mode = Mode { is_strict, space: options.space };
        let mut code = ir::Function::new();
        let isa = &*targets[usize::from(is_strict)];
        let references = lift(function, surroundings, mode, &mut code, &mut builders, isa);
        let references = references.iter().map(|name| symbol(names, name)).collect();
        let lifted = Lifted { start: function.start, is_strict, code, references };
        let kept = kept.map(|kept| (kept, key(&lifted, options)));
        let found = kept.as_ref().and_then(|(kept, key)| postcard::from_bytes(&kept.find(key)?).ok());
        let body = match found {
            Some(body) => body,
            None => {
                let failed = |error| CompileError::Cranelift(format!("{}: {error}", names.of(function.start)));
                let Some(body) = body(lifted, isa, &mut context).map_err(failed)? else {
                    left.insert(function.start);
                    continue;
                };
                if let Some((kept, key)) = kept
                    && let Ok(bytes) = postcard::to_stdvec(&body)
                {
                    kept.keep(key, &bytes);
                }
                body
            }
        };
        file.define_body(function.start, &body)?;
    }
    left.iter().for_each(|&start| file.define_interpreted(start));
    file.finish()?;
    file.object.write().map_err(|error| CompileError::Cranelift(error.to_string()))
}

/// Makes machine code of a function; `None` if its frame is too large.
fn body(lifted: Lifted, isa: &dyn TargetIsa, context: &mut Context) -> Result<Option<Body>, String> {
    context.clear();
    context.func = lifted.code;
    let code = context.compile(isa, &mut ControlPlane::default()).map_err(|error| error.inner.to_string())?;
    let frame = code.buffer.frame_layout().map_or(usize::MAX, |layout| layout.frame_to_fp_offset as usize);
    // Six registers, the frame pointer and the return address are beside it.
    if frame > MAX_FRAME / 2 {
        return Ok(None);
    }
    let places = code.buffer.get_srclocs_sorted().iter().filter(|place| !place.loc.is_default());
    let places = places.map(|place| (place.start, place.loc.bits())).collect();
    let (alignment, bytes, relocs) =
        (code.buffer.alignment, code.buffer.data().to_vec(), code.buffer.relocs().to_vec());
    let reference = |reloc: &FinalizedMachReloc| match (&reloc.target, reloc.kind) {
        (FinalizedRelocTarget::ExternalName(ExternalName::User(name)), Reloc::X86CallPCRel4 | Reloc::X86PCRel4) => {
            let number = context.func.params.user_named_funcs()[*name].index;
            let symbol = lifted.references[number as usize].clone();
            Ok(Reference { offset: reloc.offset, addend: reloc.addend, symbol })
        }
        (target, kind) => Err(format!("it refers to {target:?} by {kind:?}")),
    };
    let references = relocs.iter().map(reference).collect::<Result<_, _>>()?;
    Ok(Some(Body { alignment, code: bytes, places, references }))
}

/// The symbol of what a body refers to.
fn symbol(names: &Names, name: &Name) -> String {
    match *name {
        Name::Body(start) => body_of(names, start),
        Name::Search => searcher(names),
        Name::SearchBody => thunks::SEARCH.to_owned(),
        Name::Dispatch => names.dispatch(),
        Name::Call => thunks::CALL.to_owned(),
    }
}

/// A hash of all that a body depends on.
fn key(lifted: &Lifted, options: &CompileOptions) -> Key {
    let features: Vec<&str> = options.cpu.features().names().collect();
    let Lifted { start, is_strict, code, references } = lifted;
    let mut content = Bytes(format!("quick {features:?} {start:x}\n").into_bytes());
    let functions = code.params.user_named_funcs().values();
    (is_strict, references).hash(&mut content);
    (code.params.base_srcloc(), functions.map(|name| name.index).collect::<Vec<u32>>()).hash(&mut content);
    code.stencil.hash(&mut content);
    Header::hash(&content.0)
}

/// What is hashed, to be hashed by another function.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// The object file with functions that are left to the interpreter, and with the bodies of LLVM's functions.
pub(crate) fn others(
    interpreted: &BTreeSet<u64>,
    llvms: impl Iterator<Item = u64>,
    names: &Names,
) -> Result<Vec<u8>, CompileError> {
    let mut file = File::new(names);
    interpreted.iter().for_each(|&start| file.define_interpreted(start));
    for start in llvms {
        file.define_body_of_llvms(start)?;
    }
    file.object.write().map_err(|error| CompileError::Cranelift(error.to_string()))
}

/// The symbol of the place where bodies enter a function.
pub(crate) fn body_of(names: &Names, start: u64) -> String {
    names.part(start, "body")
}

/// An object under construction.
struct File<'a> {
    object: Object<'static>,
    names: &'a Names,
    symbols: BTreeMap<String, SymbolId>,
    lines: Lines,
}

impl File<'_> {
    fn new(names: &Names) -> File<'_> {
        let object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        File { object, names, symbols: BTreeMap::new(), lines: Lines::default() }
    }

    fn symbol(&mut self, name: String) -> SymbolId {
        let File { object, symbols, names, .. } = self;
        // All others stay within the artifact.
        let scope = if name == names.dispatch() { SymbolScope::Dynamic } else { SymbolScope::Linkage };
        *symbols.entry(name.clone()).or_insert_with(|| {
            object.add_symbol(Symbol {
                name: name.into_bytes(),
                value: 0,
                size: 0,
                kind: SymbolKind::Text,
                scope,
                weak: false,
                section: SymbolSection::Undefined,
                flags: SymbolFlags::None,
            })
        })
    }

    /// Adds a function with its body.
    fn define_body(&mut self, start: u64, body: &Body) -> Result<(), CompileError> {
        let thunks::Beginning { code: mut bytes, enter_at, direct } =
            thunks::beginning((body.alignment as usize).max(ALIGNMENT as usize));
        let body_at = bytes.len() as u64;
        bytes.extend(&body.code);
        let at = self.define(start, &bytes, direct);
        self.lines.add(at, start);
        for &(place, address) in &body.places {
            self.lines.add(at + body_at + u64::from(place), address.into());
        }
        self.refer(at + enter_at as u64, -4, thunks::ENTER.to_owned())?;
        for Reference { offset, addend, symbol } in &body.references {
            self.refer(at + body_at + u64::from(*offset), *addend, symbol.clone())?;
        }
        Ok(())
    }

    /// Adds the code of the function that begins at an address, which bodies enter at this place in it; returns its place.
    fn define(&mut self, start: u64, code: &[u8], direct: usize) -> u64 {
        let symbol = self.symbol(self.names.of(start));
        let section = self.object.section_id(StandardSection::Text);
        let at = self.object.add_symbol_data(symbol, section, code, ALIGNMENT);
        let body = self.symbol(body_of(self.names, start));
        self.object.set_symbol_data(body, section, at + direct as u64, (code.len() - direct) as u64);
        at
    }

    /// Adds a function that is left to the interpreter.
    fn define_interpreted(&mut self, start: u64) {
        let (code, direct) = thunks::interpreted(start);
        self.define(start, &code, direct);
    }

    /// Adds the place where bodies enter a function of LLVM's, by the convention of compiled code.
    fn define_body_of_llvms(&mut self, start: u64) -> Result<(), CompileError> {
        let (code, function_at) = thunks::return_function();
        let symbol = self.symbol(body_of(self.names, start));
        let section = self.object.section_id(StandardSection::Text);
        let at = self.object.add_symbol_data(symbol, section, &code, ALIGNMENT);
        self.refer(at + function_at as u64, -4, self.names.of(start))
    }

    /// Adds the line table.
    fn finish(&mut self) -> Result<(), CompileError> {
        let section = self.object.section_id(StandardSection::Text);
        let (symbol, len) = (self.object.section_symbol(section), self.object.section_mut(section).data().len() as u64);
        self.lines.write(&mut self.object, symbol, len)
    }

    /// Adds a reference from a place of the code.
    fn refer(&mut self, offset: u64, addend: i64, name: String) -> Result<(), CompileError> {
        let symbol = self.symbol(name);
        let section = self.object.section_id(StandardSection::Text);
        let flags = RelocationFlags::Elf { r_type: elf::R_X86_64_PC32 };
        self.object
            .add_relocation(section, Relocation { offset, symbol, addend, flags })
            .map_err(|error| CompileError::Cranelift(error.to_string()))
    }
}
