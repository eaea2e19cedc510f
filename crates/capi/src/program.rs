//! Programs, and their compiled code.

use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

use crate::arguments::{Out, array, given, misuse, text};
use crate::config::Engine;
use crate::error::{Returned, c_string, delete, guard, guard_value};

/// A program, loaded and checked once. May be used by any number of threads and machines.
#[derive(Debug)]
pub struct Program {
    pub(crate) program: riverrun::Program,
    /// Names and signatures of exports and imports as C has them.
    names: OnceLock<Names>,
    /// Why nothing more is compiled of it, likewise.
    failure: OnceLock<CString>,
}

#[derive(Debug)]
struct Names {
    exports: Vec<Name>,
    imports: Vec<Name>,
}

#[derive(Debug)]
struct Name {
    name: CString,
    signature: Option<CString>,
}

/// An export or import of a program. The texts live as long as the program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FunctionName {
    /// Its name.
    pub name: *const c_char,
    /// Its types, as `i32 (f32, ptr)`; NULL if the program does not say.
    pub signature: *const c_char,
}

impl Program {
    fn new(program: riverrun::Program) -> Box<Program> {
        Box::new(Program { program, names: OnceLock::new(), failure: OnceLock::new() })
    }

    fn names(&self) -> &Names {
        self.names.get_or_init(|| {
            let name = |name: &str, signature: &Option<riverrun::Signature>| Name {
                name: c_string(name),
                signature: signature.as_ref().map(|signature| c_string(signature.to_string())),
            };
            Names {
                exports: self.program.exports().iter().map(|one| name(&one.name, &one.signature)).collect(),
                imports: self.program.imports().iter().map(|one| name(&one.name, &one.signature)).collect(),
            }
        })
    }
}

fn function_name(names: &[Name], index: usize, function: Out<'_, FunctionName>) -> Option<bool> {
    let Name { name, signature } = names.get(index)?;
    let signature = signature.as_ref().map_or(ptr::null(), |text| text.as_ptr());
    function?.write(FunctionName { name: name.as_ptr(), signature });
    Some(true)
}

/// Reads a static RISC-V executable; the bytes are copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_program_new(
    engine: Option<&Engine>,
    elf: *const c_void,
    len: usize,
    program: Out<'_, Box<Program>>,
) -> Returned {
    guard(|| {
        let (engine, program) = (given(engine, "engine")?, given(program, "program")?);
        program.write(Program::new(riverrun::Program::new(&engine.0, array::<u8>(elf.cast(), len, "elf")?)?));
        Ok(())
    })
}

/// Reads a static RISC-V executable from a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_program_from_file(
    engine: Option<&Engine>,
    path: *const c_char,
    program: Out<'_, Box<Program>>,
) -> Returned {
    guard(|| {
        let (engine, program) = (given(engine, "engine")?, given(program, "program")?);
        program.write(Program::new(riverrun::Program::from_file(&engine.0, text(path, "path")?)?));
        Ok(())
    })
}

/// Frees the program; machines that run it stay usable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_program_delete(program: Option<Box<Program>>) {
    delete(program);
}

/// Makes another program: the same executable with compiled code, which `riverrun compile` or
/// `riverrun_program_compile` has made of it. If the code is refused, the error says why.
///
/// Loading it is an act of trust: compiled code runs with all rights of the host. The file must come from
/// riverrun's compiler, and must not change while the program is in use. What is checked guards against
/// mistakes, not against forgery.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_program_with_artifact(
    program: Option<&Program>,
    path: *const c_char,
    compiled: Out<'_, Box<Program>>,
) -> Returned {
    guard(|| {
        let (program, compiled) = (given(program, "program")?, given(compiled, "compiled")?);
        // SAFETY: the caller vouches for the file, as the documentation in the header demands.
        compiled.write(Program::new(unsafe { program.program.with_artifact(text(path, "path")?)? }));
        Ok(())
    })
}

/// Compiles the program into an artifact, a file at `path`, and makes another program: the same executable with that
/// code. Code that counts fuel is slower, and the only one that machines with a limit of fuel use.
///
/// A library built without the compiler, which is the default, returns an error that says so: then use `riverrun
/// compile`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_program_compile(
    program: Option<&Program>,
    path: *const c_char,
    counts_fuel: bool,
    compiled: Out<'_, Box<Program>>,
) -> Returned {
    guard(|| {
        let (program, path, compiled) = (given(program, "program")?, text(path, "path")?, given(compiled, "compiled")?);
        compiled.write(Program::new(compile(&program.program, path, counts_fuel)?));
        Ok(())
    })
}

#[cfg(feature = "compile")]
fn compile(program: &riverrun::Program, path: &str, counts_fuel: bool) -> crate::arguments::Result<riverrun::Program> {
    let options = riverrun::CompileOptions { fuel: counts_fuel, ..Default::default() };
    Ok(program.compile_to(&options, path)?.0)
}

#[cfg(not(feature = "compile"))]
fn compile(_: &riverrun::Program, _: &str, _: bool) -> crate::arguments::Result<riverrun::Program> {
    let message = "this library was built without the compiler: use `riverrun compile`, or build it with the feature \
                   `compile`";
    Err(crate::error::Error::new(crate::error::ErrorKind::Compile, message))
}

/// Whether the program has compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_program_is_compiled(program: Option<&Program>) -> bool {
    program.is_some_and(|program| program.program.is_compiled())
}

/// What was compiled of a program while it ran. Times are in nanoseconds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TierUpStatistics {
    /// Samples of interpreted code so far, each of 524,288 instructions, those of earlier starts in the cache included.
    pub samples: u64,
    /// Compilations that were successful, in this process.
    pub compilations: u64,
    /// Functions that have compiled code now.
    pub functions: u64,
    /// How long the compiler has run, in this process.
    pub time_ns: u64,
    /// When there was the present code, after the program was loaded.
    pub since_ns: u64,
    /// Whether the compiler is running.
    pub is_compiling: bool,
    /// Whether the code was made quickly, and better code follows.
    pub is_quick: bool,
    /// Why nothing more is compiled, as long as the program lives; NULL if that is not so.
    pub failure: *const c_char,
}

/// What was compiled of the program while it ran. False if it is not compiled so (`riverrun_config_set_tier_up`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_program_tier_up(
    program: Option<&Program>,
    statistics: Out<'_, TierUpStatistics>,
) -> bool {
    guard_value(false, || {
        let Program { program, failure, .. } = program?;
        let now = program.tier_up()?;
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let failure = now.failure.map_or(ptr::null(), |text| failure.get_or_init(|| c_string(text)).as_ptr());
        statistics?.write(TierUpStatistics {
            samples: now.samples,
            compilations: now.compilations as u64,
            functions: now.functions as u64,
            time_ns: nanoseconds(now.time),
            since_ns: nanoseconds(now.since),
            is_compiling: now.is_compiling,
            is_quick: now.is_quick,
            failure,
        });
        Some(true)
    })
}

/// Keeps the profile of the program in the cache, so that its next start goes on where this one ends. Does nothing if it is
/// not compiled as it runs, or if there is no cache.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_program_keep_profile(program: Option<&Program>) -> Returned {
    guard(|| Ok(given(program, "program")?.program.keep_profile()?))
}

/// How many functions the program exports by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_program_exports(program: Option<&Program>) -> usize {
    program.map_or(0, |program| program.program.exports().len())
}

/// One of them. False if there is no such.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_program_export(
    program: Option<&Program>,
    index: usize,
    function: Out<'_, FunctionName>,
) -> bool {
    guard_value(false, || function_name(&program?.names().exports, index, function))
}

/// How many host functions the program calls by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_program_imports(program: Option<&Program>) -> usize {
    program.map_or(0, |program| program.program.imports().len())
}

/// One of them. False if there is no such.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_program_import(
    program: Option<&Program>,
    index: usize,
    function: Out<'_, FunctionName>,
) -> bool {
    guard_value(false, || function_name(&program?.names().imports, index, function))
}

/// The signature of this text.
pub(crate) fn signature(text: &str) -> crate::arguments::Result<riverrun::Signature> {
    text.parse().map_err(|error: riverrun::image::SignatureError| misuse(error.to_string()))
}
