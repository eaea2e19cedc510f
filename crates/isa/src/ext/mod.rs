//! The extensions, one file each. [`for_each_row!`] concatenates their rows.

pub(crate) mod a;
pub(crate) mod c;
pub(crate) mod compose;
pub(crate) mod d;
pub(crate) mod f;
pub(crate) mod m;
pub(crate) mod rv64i;
pub(crate) mod xriverrun;
pub(crate) mod zba;
pub(crate) mod zbb;
pub(crate) mod zbs;
pub(crate) mod zcb;
pub(crate) mod zfa;
pub(crate) mod zicond;
pub(crate) mod zicsr;
pub(crate) mod zifencei;

/// Calls `$callback! { $first Ext { rows } Ext { rows } ... }`.
macro_rules! for_each_row {
    ($callback:ident($($first:tt)*)) => {
        $crate::ext::chain! { [rv64i m a f d zicsr zifencei zba zbb zbs zicond zfa xriverrun] $callback { $($first)* } }
    };
}
pub(crate) use for_each_row;

/// The same of the compressed instructions' rows: `$callback! { Ext { rows } Ext { rows } }`.
macro_rules! for_each_compressed_row {
    ($callback:ident) => {
        $crate::ext::chain! { [c zcb] $callback {} }
    };
}
pub(crate) use for_each_compressed_row;

/// Appends the rows of the first file named, and goes on with the others.
macro_rules! chain {
    ([] $callback:ident { $($rows:tt)* }) => { $callback! { $($rows)* } };
    ([$next:ident $($rest:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::$next::rows! { [$($rest)*] $callback { $($rows)* } }
    };
}
pub(crate) use chain;
