//! Configurations and engines.

use std::ffi::c_char;

use riverrun::CallLimits;

use crate::arguments::{Out, given, text};
use crate::error::{Returned, delete, guard, guard_value};

/// How programs are run.
#[derive(Debug, Default)]
pub struct Config(pub(crate) riverrun::Config);

/// A configuration that programs and machines share. Any number of threads may use it.
#[derive(Debug)]
pub struct Engine(pub(crate) riverrun::Engine);

/// The default configuration: memory limited only by the guest's 4 GiB of addresses, 8 MiB of stack, the interpreter, 64
/// nested calls between host and guest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_config_new() -> Option<Box<Config>> {
    guard_value(None, || Some(Some(Box::default())))
}

/// Frees the configuration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_config_delete(config: Option<Box<Config>>) {
    delete(config);
}

/// Bits of a guest's addresses, 26 to 32; 32 unless told otherwise. A machine takes so many addresses of the process, 2
/// to the power of `bits`: fewer are for processes that may not have 4 GiB for each machine. `riverrun_engine_new`
/// refuses other numbers, and a stack or limit of memory that does not fit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_config_set_address_bits(config: Option<&mut Config>, bits: u32) {
    config.map(|config| config.0.address_bits(bits));
}

/// Bytes of memory that a guest may have, image and stack included.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_config_set_memory_limit(config: Option<&mut Config>, bytes: u64) {
    config.map(|config| config.0.memory_limit(bytes));
}

/// Pieces that a guest may split its memory into, 4,096 unless told otherwise: each range of pages with the
/// same permissions is one, and each hole between two. The kernel keeps a mapping for each, of which a process
/// has about 65,000.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_config_set_mapping_limit(config: Option<&mut Config>, pieces: usize) {
    config.map(|config| config.0.mapping_limit(pieces));
}

/// Bytes of a guest's stack, rounded up to pages: at most 1 GiB.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_config_set_stack_size(config: Option<&mut Config>, bytes: u64) {
    config.map(|config| config.0.stack_size(bytes));
}

/// Bytes that a program's decoded code may take; an instruction that has run takes about 32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_config_set_code_limit(config: Option<&mut Config>, bytes: u64) {
    config.map(|config| config.0.code_limit(bytes));
}

/// How deep runs of a guest may nest, by host functions that call back into it: at least 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_config_set_call_depth(config: Option<&mut Config>, runs: u32) {
    config.map(|config| config.0.call_depth(runs));
}

/// Runs every instruction in the reference interpreter: slow, for comparison with the other engines.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_config_set_single_step(config: Option<&mut Config>, on: bool) {
    config.map(|config| config.0.single_step(on));
}

/// Keeps compiled code in a folder, which is made when it is needed: programs use what they find there, and what is compiled
/// while they run stays for their next start. Only users and processes that have all rights of the host may be able to
/// write there: compiled code runs with these. The command's cache is `$XDG_CACHE_HOME/riverrun`; both may use the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_config_set_cache(config: Option<&mut Config>, folder: *const c_char) -> Returned {
    guard(|| {
        let folder = text(folder, "folder")?;
        // SAFETY: the header says who may write there.
        unsafe { given(config, "config")?.0.cache(folder) };
        Ok(())
    })
}

/// Compiles programs while they run: the interpreter begins, and a process in the background compiles the functions that
/// turn out to be hot. `compiler` is the path of `riverrun-compile`, or its name if it is to be searched for as
/// commands are: what it makes runs with all rights of the host. With `counts_fuel` the code counts instructions;
/// machines with a limit of fuel use no other. If the compiler fails, nothing more is compiled, and
/// `riverrun_program_tier_up` says why. A cache keeps what is compiled, and the profile by `riverrun_program_keep_profile`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_config_set_tier_up(
    config: Option<&mut Config>,
    compiler: *const c_char,
    counts_fuel: bool,
) -> Returned {
    guard(|| {
        let tier_up = riverrun::TierUp::new(text(compiler, "compiler")?).fuel(counts_fuel);
        // SAFETY: the header says what the compiler must be.
        unsafe { given(config, "config")?.0.tier_up(tier_up) };
        Ok(())
    })
}

/// An engine of this configuration, which stays the caller's; NULL is the default one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_engine_new(config: Option<&Config>, engine: Out<'_, Box<Engine>>) -> Returned {
    guard(|| {
        let engine = given(engine, "engine")?;
        let made = match config {
            Some(config) => riverrun::Engine::new(&config.0),
            None => riverrun::Engine::new(&riverrun::Config::new()),
        };
        engine.write(Box::new(Engine(made?)));
        Ok(())
    })
}

/// Frees the engine; programs, linkers and machines that were made of it stay usable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_engine_delete(engine: Option<Box<Engine>>) {
    delete(engine);
}

/// The limits of a call. The tighter of these and the machine's own applies.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Instructions that it may execute; `RIVERRUN_UNLIMITED` for any number.
    pub fuel: u64,
    /// Nanoseconds that it may take; `RIVERRUN_UNLIMITED` for any time.
    pub timeout_ns: u64,
}

/// No limit.
pub const UNLIMITED: u64 = u64::MAX;

impl Limits {
    pub(crate) fn of_call(&self) -> CallLimits {
        let mut limits = CallLimits::new();
        limits.fuel = (self.fuel != UNLIMITED).then_some(self.fuel);
        limits.deadline = deadline(self.timeout_ns);
        limits
    }
}

/// The time that many nanoseconds from now.
pub(crate) fn deadline(timeout_ns: u64) -> Option<std::time::Instant> {
    let limit = (timeout_ns != UNLIMITED).then(|| std::time::Duration::from_nanos(timeout_ns));
    std::time::Instant::now().checked_add(limit?)
}
