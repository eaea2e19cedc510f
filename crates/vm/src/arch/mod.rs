//! What riverrun needs of a processor. A port to another one begins with a folder beside `x86_64` that has all names of the
//! list below; CONTRIBUTING.md says what each does.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(not(target_arch = "x86_64"))]
compile_error!("riverrun has no `arch` folder for this processor: see CONTRIBUTING.md");

#[cfg(target_arch = "x86_64")]
use x86_64 as host;

pub use host::TRIPLE;
pub use host::enter::PINNED_REGISTERS;
pub use host::exit::{FRAME_GAP, FRAME_SIZE, exit_engine, return_marker};
pub use host::features::Features;
pub use host::float_env::{FloatEnv, GuestFloats};

pub(crate) use host::enter::{
    Stubs, call_host_abi_entry, enter_function, fault_entry, interrupt_entry, outermost_returned, stubs,
};
pub(crate) use host::exit::enter_host;
pub(crate) use host::owner;
