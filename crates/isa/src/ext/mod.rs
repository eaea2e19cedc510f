//! The extensions, a file each. [`for_each_row!`] strings their rows together.

pub(crate) mod compose;
pub(crate) mod rv64i;
pub(crate) mod zba;

/// Calls `$callback! { $first Ext { rows } Ext { rows } ... }`.
macro_rules! for_each_row {
    ($callback:ident($($first:tt)*)) => {
        $crate::ext::chain! { [rv64i zba] $callback { $($first)* } }
    };
}
pub(crate) use for_each_row;

/// Appends the rows of the first file named, and goes on with the others.
macro_rules! chain {
    ([] $callback:ident { $($rows:tt)* }) => { $callback! { $($rows)* } };
    ([$next:ident $($rest:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::$next::rows! { [$($rest)*] $callback { $($rows)* } }
    };
}
pub(crate) use chain;
