//! What riverrun needs of a processor. A port to another one begins with a folder beside `x86_64` that has all names of the
//! list below; CONTRIBUTING.md says what each does.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(not(target_arch = "x86_64"))]
compile_error!("riverrun has no `arch` folder for this processor: see CONTRIBUTING.md");

#[cfg(target_arch = "x86_64")]
use x86_64 as host;

pub use host::TRIPLE;
pub use host::features::Features;
pub use host::float_env::{FloatEnv, GuestFloats};
pub use host::leave::{FRAME_GAP, FRAME_SIZE, leave_engine, return_marker};

pub(crate) use host::claimed;
pub(crate) use host::enter::{
    Stubs, call_host_entry, enter_function, interrupt_landing, landing, outermost_returned, stubs,
};
pub(crate) use host::leave::enter_host;
