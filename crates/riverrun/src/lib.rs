//! riverrun: an embeddable RISC-V sandbox.
//!
//! A host loads a plain RISC-V executable, gives it a chosen set of host functions, and runs it. Nothing that the guest does
//! can hurt the host.
//!
//! - [`Engine`]: a configuration, shared by everything below.
//! - [`Program`]: an executable, loaded once, shared by machines and threads.
//! - [`Linker`]: the host functions that guests can call.
//! - [`Func`]: a function of a guest that the host can call.
//! - [`Heap`]: the guest heap, whose records are in the host's memory.
//! - [`Machine`]: one guest with its memory, registers, limits and the host's own state.
//! - [`Snapshot`]: a guest at one moment, from which machines are made; [`Pool`]: machines that return to one.
//!
//! The smallest host is in [`Linker`]'s example.

mod alarm;
mod backtrace;
mod boundary;
mod call;
mod caller;
#[cfg(feature = "compile")]
mod compile;
mod compiled_code;
mod compiler_process;
mod dispatch;
mod engine;
mod error;
#[cfg(target_os = "linux")]
#[path = "exhausted_linux.rs"]
mod exhausted;
mod flow;
mod guest;
mod hart;
mod heap;
mod heap_error;
mod host;
mod initialization;
mod instance;
mod instantiation;
mod limits;
mod linker;
mod machine;
mod memory;
mod missing;
#[cfg(doctest)]
mod must_not_compile;
mod noted_window;
mod own_hart;
mod pace;
mod program;
pub mod raw;
mod ready;
mod registers;
mod registry;
mod resuming;
mod run;
mod sampler;
mod snapshot;
mod snapshot_error;
mod suspension;
mod tier_up;
mod values;
mod waiting;

pub use alarm::Alarm;
pub use backtrace::Backtrace;
pub use boundary::convention::{Parameter, Parameters, Returned};
pub use boundary::pointer::{PointerError, Ptr, STRING_MAX, Slice, Str};
pub use boundary::structure::Structure;
#[doc(hidden)]
pub use boundary::structure::support;
pub use boundary::value::GuestValue;
pub use bytemuck;
pub use call::dyn_func::DynFunc;
pub use call::func::{CallContext, Func};
pub use caller::Caller;
#[doc(hidden)]
pub use compiler_process::how_it_ended;
pub use engine::{Config, Engine};
pub use error::{Error, HostError, HostFailure, LinkError, Trap};
pub use flow::Flow;
pub use hart::Hart;
pub use heap::{
    CxxLibrary, CxxString, CxxVector, GuestBox, GuestCxxString, GuestCxxVector, GuestString, GuestVec, Heap, HeapEvent,
    HeapOptions, HeapStatistics,
};
pub use heap_error::{HeapError, HeapProblem};
pub use host::function::{HostResult, IntoHostFunction};
pub use host::own::GuestPanic;
pub use initialization::InitializationOver;
pub use limits::CallLimits;
pub use linker::Linker;
pub use machine::{InterruptHandle, Machine};
pub use memory::{Memory, StringError};
pub use program::Program;
pub use resuming::{CallAsync, DynCallAsync, RunAsync};
#[cfg(feature = "compile")]
#[doc(hidden)]
pub use riverrun_aot::KeptObjects;
#[cfg(feature = "compile")]
pub use riverrun_aot::{CompileError, CompileOptions, Cpu, Report as CompileReport};
pub use riverrun_program as image;
#[doc(hidden)]
pub use riverrun_program::doc;
pub use riverrun_program::{FrameDescription as Frame, LoadError, Scalar, Signature, Type};
pub use riverrun_vm::artifact::{ArtifactError, Fidelity, LinkedArtifact, Options as ArtifactOptions, Quick};
pub use riverrun_vm::{
    AddressSpace, DYNAMIC_CALL, Fault, HASH_MIN, MAX_ADDRESS, MIN_ADDRESS, MapError, PAGE_SIZE, Perm, READY_CALL,
    Region, SIGNAL_RETURN_ADDRESS, TrapCause,
};
#[doc(hidden)]
pub use riverrun_vm::{LockKind, RangeLock, range_lock_in_the_way, set_range_lock};
pub use snapshot::{Pool, PooledMachine, Snapshot, SnapshotError};
pub use tier_up::{TierUp, TierUpStatistics};
pub use waiting::{AsyncCaller, HostFuture};

/// The smallest complete host, as the README shows it.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/errors.md")]
struct GuideToErrors;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/limits.md")]
struct GuideToLimits;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/many-machines.md")]
struct GuideToManyMachines;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/tier-up.md")]
struct GuideToTierUp;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/types.md")]
struct GuideToTypes;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/waiting.md")]
struct GuideToWaiting;
