//! Zifencei: instruction-fetch fence (Unprivileged ISA, "Zifencei Extension").

macro_rules! rows {
    ([$($next:ident)*] $callback:ident { $($rows:tt)* }) => {
        $crate::ext::chain! { [$($next)*] $callback { $($rows)* Zifencei {

/// Makes earlier stores visible to later instruction fetches.
fence_i = Sys { mask: 0x707f, match: 0x100f, cost: 10 } |o| { o.system(System::FenceI); o.unit() };

        } } }
    };
}
pub(crate) use rows;
