//! Analysis of a program's text: functions, basic blocks, and facts about them that lifting uses. It knows nothing of LLVM.

mod block;
mod blocks;
mod call_numbers;
mod cold;
mod constants;
mod copies;
mod costs;
mod execution;
mod frame;
mod functions;
mod imports;
mod indices;
mod jump_tables;
pub(crate) mod libcalls;
mod liveness;
mod loops;
mod millicode;
mod narrow;
mod order;
mod poll_constants;
mod polls;
mod propagation;
pub(crate) mod registers;
#[cfg(test)]
pub(crate) mod sample;
mod text;
mod trips;

pub(crate) use block::{Block, Fixed, Targets, Terminator};
pub(crate) use call_numbers::{CallNumber, call_numbers};
pub(crate) use cold::{is_reached, leave_out_cold};
pub(crate) use copies::{address, insert_copies, is_copied};
pub(crate) use costs::{ALIGNMENT, Arguments, LONGEST, costs};
pub(crate) use frame::private_accesses;
pub(crate) use functions::{Function, Starts, functions};
pub(crate) use imports::{HostCall, Imports};
pub(crate) use indices::{Index, index, load};
pub(crate) use libcalls::{Libcall, libcalls};
pub(crate) use liveness::{Liveness, Summary, before};
pub(crate) use loops::loops_without_calls;
pub(crate) use narrow::narrow;
pub(crate) use order::{Order, order};
pub(crate) use poll_constants::poll_constants;
pub(crate) use polls::insert_polls;
pub(crate) use text::{Abilities, Text};
