//! Generates both sides of an API from its description: stubs for guests, typed registration for hosts.
//!
//! `riverrun bindgen`, build scripts and CMake use it. It knows nothing of the crate `riverrun`, whose interface the
//! generated code uses.
//!
//! A description is a JSON file that maps names to prototypes in C:
//!
//! ```json
//! {
//!     "typedef": ["typedef struct { float x, y; } Point"],
//!     "initialization": ["Game::set_title"],
//!     "clientside": ["GUI::label"],
//!     "leaf": ["Point::rotate"],
//!
//!     "Game::set_title": "void sys_set_title (const char *title)",
//!     "GUI::label": "unsigned sys_gui_label (unsigned parent, const char *text)",
//!     "Point::rotate": "void sys_rotate (Point points[4], float angle)"
//! }
//! ```
//!
//! | key | what it holds |
//! | --- | --- |
//! | `typedef` | the types that prototypes use: one declaration, or a list |
//! | `initialization` | names of calls that are possible only while the guest initializes |
//! | `clientside`, `serverside` | names of calls that only hosts of that side have |
//! | `leaf` | names of calls that access no guest memory but the arrays that their parameters declare, and do not call back; their inline stubs let the compiler keep all other memory in registers |
//! | anything else | a call |
//!
//! Generated code has the names of the description. Two kinds get a `_` behind them: keywords of the language, and
//! types that are called as what the bindings use, such as `Result`, which is `Result_` in Rust. The header of
//! guests has the types as they are written here. Names that begin with `riverrun` are refused, as generated code has
//! such names. So are two names that would be one.
//!
//! [`Api::read`] reads a description; each other method generates one file:
//!
//! | method | files, for `game.json` |
//! | --- | --- |
//! | [`Api::write_guest_c`] | `game.h`, and `game.S` to link with |
//! | [`Api::write_guest_rust`] | `game_guest.rs` |
//! | [`Api::write_host_rust`] | `game_host.rs` |
//! | [`Api::write_host_cpp`] | `game_host.hpp` |
//!
//! ```no_run
//! // build.rs
//! use riverrun_bindgen::Api;
//!
//! println!("cargo::rerun-if-changed=game.json");
//! Api::read("game.json")?.write_guest_c("generated")?;
//! # Ok::<(), riverrun_bindgen::Error>(())
//! ```

#![forbid(unsafe_code)]

mod abi;
mod cargo;
mod constant;
mod declaration;
mod description;
mod error;
mod guest;
mod guest_c;
mod guest_rust;
mod host_cpp;
mod host_rust;
mod names;
mod output;
mod reserved;
mod scope;
mod sdk;
mod syntax;
mod text;
mod toolchain;
mod types;

pub use description::Api;
pub use error::{Error, Problem};
pub use guest::Guest;
pub use names::{DYNAMIC_CALL, hash};
pub use sdk::write_sdk;
pub use toolchain::{BuildError, Language, Library, Toolchain, shown};
