//! Calls calls of ../apis/game.json in every form, as `values.c` does.
#![no_std]
#![no_main]

use riverrun_guest::{by_value, export};

#[allow(dead_code, non_camel_case_types)]
mod api {
    include!(concat!(env!("RIVERRUN_BINDINGS"), "/game_guest.rs"));
}
use api::*;

macro_rules! check {
    ($condition:expr, $code:literal) => {
        if !($condition) {
            return $code;
        }
    };
}

/// `minus` is -1. Gives the number of the check that fails.
macro_rules! values {
    ($name:ident: $is_debug:ident $label:ident $many:ident $eight:ident $narrow:ident $stack:ident $floats:ident
     $length:ident $add:ident $next:ident $scale:ident $texture:ident $identity:ident $multiply:ident $empty:ident
     $odd:ident $narrowed:ident) => {
        fn $name(minus: i32) -> i32 {
            // SAFETY: pointers are to locals, as large as the API says.
            unsafe {
                check!($is_debug() == -2, 1);
                check!($label(minus as u32, c"label".as_ptr().cast()) == 0xffff_fffe, 2);
                check!($many(1, minus, 3, -2, 5) == -5_000_000_000, 3);
                check!($eight(1, 2, 3, 4, 5, 6, 7, minus) == 27, 4);
                check!($narrow(-100, 200, -30_000, true, 120) == -128, 5);
                check!($stack(255, minus as i16, 3, 4, 5, 6, 7, 8, minus as i64, -2) == 285, 6);
                let a = Point { x: 1.5, y: minus as f32 };
                let b = Point { x: 0.25, y: 3.0 };
                check!($floats(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, minus as f32, a) == 37.5, 7);
                check!($length(b) == 3.25, 8);
                let sum = $add(a, b);
                check!(sum.x == 1.75, 9);
                check!(sum.y == 2.0, 10);
                let handle = $next(Handle { kind: minus as i8, id: -10_000_000_000 });
                check!(handle.kind == -2, 11);
                check!(handle.id == -9_999_999_999, 12);
                let mixed = $scale(Mixed { weight: 0.5, count: minus as i16 }, 4.0);
                check!(mixed.weight == 2.0, 13);
                check!(mixed.count == -2, 14);
                check!($texture(core::ptr::null_mut(), None).is_null(), 15);
                let mut m: [f32; 16] = [0.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 4.0, 2.0, 3.0, 4.0, 5.0, 3.0, 4.0, 5.0, 6.0];
                let by: [f32; 16] = [2.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 2.0];
                check!(!$identity((&raw const by).cast()), 16);
                $multiply((&raw mut m).cast(), (&raw const by).cast());
                let [_, first, .., last] = m;
                check!(first == 2.0, 17);
                check!(last == 12.0, 18);
                check!($narrowed(-2.5) == -1.25, 19);
                $empty();
                $odd();
                0
            }
        }
    };
}

values! { by_name: sys_is_debug sys_gui_label sys_many sys_eight sys_narrow sys_stack sys_floats sys_point_length
sys_point_add sys_handle_next sys_mixed_scale sys_texture sys_matrix_is_identity sys_matrix_multiply sys_empty sys_odd sys_narrowed }
values! { by_hash: isys_is_debug isys_gui_label isys_many isys_eight isys_narrow isys_stack isys_floats
isys_point_length isys_point_add isys_handle_next isys_mixed_scale isys_texture isys_matrix_is_identity
isys_matrix_multiply isys_empty isys_odd isys_narrowed }
values! { by_number: dsys_is_debug dsys_gui_label dsys_many dsys_eight dsys_narrow dsys_stack dsys_floats
dsys_point_length dsys_point_add dsys_handle_next dsys_mixed_scale dsys_texture dsys_matrix_is_identity
dsys_matrix_multiply dsys_empty dsys_odd dsys_narrowed }

by_value!(Point { x: f32, y: f32 });
by_value!(Handle { kind: i8, id: i64 });
by_value!(Mixed { weight: f64, count: i16 });

macro_rules! structs {
    ($($name:ident { $($field:ident: $type:ty),* })*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy)]
            struct $name {
                $($field: $type),*
            }
            by_value!($name { $($field: $type),* });
        )*
    };
}

structs! {
    Pair { first: f32, second: f32 }
    Vector { x: f32, y: f32, z: f32 }
}

// As in `values.c`.
export! {
    fn opaque(minus: i32) -> i32 {
        by_name(minus)
    }

    fn inline(minus: i32) -> i32 {
        by_hash(minus)
    }

    fn direct(minus: i32) -> i32 {
        by_number(minus)
    }

    fn turned(p: Point, times: i32) -> Point {
        (0..times).fold(p, |p, _| Point { x: -p.y, y: p.x })
    }

    fn swapped(p: Pair) -> Pair {
        Pair { first: p.second, second: p.first }
    }

    fn next(h: Handle) -> Handle {
        Handle { kind: h.kind.wrapping_sub(1), id: h.id + 1 }
    }

    fn scaled(m: Mixed, by: f64) -> Mixed {
        Mixed { weight: m.weight * by, count: m.count * 2 }
    }

    fn negated(v: Vector) -> Vector {
        Vector { x: -v.x, y: -v.y, z: -v.z }
    }

    fn crowded(
        a: f32, b: f32, c: f32, d: f32, e: f32, f: f32, g: f32, p: Point, h: i64, i: i64, j: i64, k: i64, l: i64,
        m: Mixed, n: Handle, last: f32,
    ) -> f64 {
        f64::from(a + b + c + d + e + f + g + p.x * p.y)
            + (h + i + j + k + l) as f64
            + m.weight * f64::from(m.count)
            + (i64::from(n.kind) * n.id) as f64
            + f64::from(last)
    }

    fn behind(
        a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64, i: i64, p: Point, m: Mixed,
    ) -> f64 {
        (a + b + c + d + e + f + g + h + i) as f64 + f64::from(p.x * p.y) + m.weight * f64::from(m.count)
    }
}

#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    // SAFETY: the text ends in a zero.
    unsafe { dsys_set_title(c"a game".as_ptr().cast()) };
    0
}
