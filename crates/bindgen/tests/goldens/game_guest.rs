// Made by `riverrun bindgen` from game.json: change that instead.

#[cfg(not(target_arch = "riscv64"))]
compile_error!("these are calls of a riverrun guest: compile for riscv64");

/// `TestData`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TestData {
    /// `a`.
    pub a: i32,
    /// `b`.
    pub b: i32,
    /// `c`.
    pub c: i32,
    /// `x`.
    pub x: f32,
    /// `y`.
    pub y: f32,
    /// `z`.
    pub z: f32,
}

/// `Point`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Point {
    /// `x`.
    pub x: f32,
    /// `y`.
    pub y: f32,
}

/// `Handle`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Handle {
    /// `kind`.
    pub kind: i8,
    /// `id`.
    pub id: i64,
}

/// `Mixed`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Mixed {
    /// `weight`.
    pub weight: f64,
    /// `count`.
    pub count: i16,
}

/// `struct node`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct node {
    /// `next`.
    pub next: *mut node,
    /// `at`.
    pub at: [f32; 3],
}

/// `struct Texture`, known to the host.
#[repr(C)]
pub struct Texture {
    _private: [u8; 0],
}

core::arch::global_asm!(
    r#"
/* Game::set_title */
.section .text.sys_set_title, "ax", @progbits
    .balign 2
    .globl sys_set_title
    .type sys_set_title, @function
sys_set_title:
    li t0, -2112935635
    lla t1, .Lname_sys_set_title
    li a7, 504
    ecall
    ret
    .size sys_set_title, . - sys_set_title
.section .rodata.sys_set_title, "a", @progbits
.Lname_sys_set_title:
    .asciz "Game::set_title"

/* Game::exit */
.section .text.sys_game_exit, "ax", @progbits
    .balign 2
    .globl sys_game_exit
    .type sys_game_exit, @function
sys_game_exit:
    li t0, -1112938338
    lla t1, .Lname_sys_game_exit
    li a7, 504
    ecall
    ret
    .size sys_game_exit, . - sys_game_exit
.section .rodata.sys_game_exit, "a", @progbits
.Lname_sys_game_exit:
    .asciz "Game::exit"

/* Timer::stop */
.section .text.sys_timer_stop, "ax", @progbits
    .balign 2
    .globl sys_timer_stop
    .type sys_timer_stop, @function
sys_timer_stop:
    li t0, 379614360
    lla t1, .Lname_sys_timer_stop
    li a7, 504
    ecall
    ret
    .size sys_timer_stop, . - sys_timer_stop
.section .rodata.sys_timer_stop, "a", @progbits
.Lname_sys_timer_stop:
    .asciz "Timer::stop"

/* Timer::periodic */
.section .text.sys_timer_periodic, "ax", @progbits
    .balign 2
    .globl sys_timer_periodic
    .type sys_timer_periodic, @function
sys_timer_periodic:
    li t0, -2128949271
    lla t1, .Lname_sys_timer_periodic
    li a7, 504
    ecall
    ret
    .size sys_timer_periodic, . - sys_timer_periodic
.section .rodata.sys_timer_periodic, "a", @progbits
.Lname_sys_timer_periodic:
    .asciz "Timer::periodic"

/* Debug::breakpoint */
.section .text.sys_breakpoint, "ax", @progbits
    .balign 2
    .globl sys_breakpoint
    .type sys_breakpoint, @function
sys_breakpoint:
    li t0, -894437754
    lla t1, .Lname_sys_breakpoint
    li a7, 504
    ecall
    ret
    .size sys_breakpoint, . - sys_breakpoint
.section .rodata.sys_breakpoint, "a", @progbits
.Lname_sys_breakpoint:
    .asciz "Debug::breakpoint"

/* Debug::is_debug */
.section .text.sys_is_debug, "ax", @progbits
    .balign 2
    .globl sys_is_debug
    .type sys_is_debug, @function
sys_is_debug:
    li t0, -1254701580
    lla t1, .Lname_sys_is_debug
    li a7, 504
    ecall
    ret
    .size sys_is_debug, . - sys_is_debug
.section .rodata.sys_is_debug, "a", @progbits
.Lname_sys_is_debug:
    .asciz "Debug::is_debug"

/* GUI::label */
.section .text.sys_gui_label, "ax", @progbits
    .balign 2
    .globl sys_gui_label
    .type sys_gui_label, @function
sys_gui_label:
    li t0, -259207054
    lla t1, .Lname_sys_gui_label
    li a7, 504
    ecall
    ret
    .size sys_gui_label, . - sys_gui_label
.section .rodata.sys_gui_label, "a", @progbits
.Lname_sys_gui_label:
    .asciz "GUI::label"

/* World::save */
.section .text.sys_world_save, "ax", @progbits
    .balign 2
    .globl sys_world_save
    .type sys_world_save, @function
sys_world_save:
    li t0, 106197449
    lla t1, .Lname_sys_world_save
    li a7, 504
    ecall
    ret
    .size sys_world_save, . - sys_world_save
.section .rodata.sys_world_save, "a", @progbits
.Lname_sys_world_save:
    .asciz "World::save"

/* World::texture */
.section .text.sys_texture, "ax", @progbits
    .balign 2
    .globl sys_texture
    .type sys_texture, @function
sys_texture:
    li t0, 1079345050
    lla t1, .Lname_sys_texture
    li a7, 504
    ecall
    ret
    .size sys_texture, . - sys_texture
.section .rodata.sys_texture, "a", @progbits
.Lname_sys_texture:
    .asciz "World::texture"

/* Point::length */
.section .text.sys_point_length, "ax", @progbits
    .balign 2
    .globl sys_point_length
    .type sys_point_length, @function
sys_point_length:
    li t0, -1117714795
    lla t1, .Lname_sys_point_length
    li a7, 504
    ecall
    ret
    .size sys_point_length, . - sys_point_length
.section .rodata.sys_point_length, "a", @progbits
.Lname_sys_point_length:
    .asciz "Point::length"

/* Point::add */
.section .text.sys_point_add, "ax", @progbits
    .balign 2
    .globl sys_point_add
    .type sys_point_add, @function
sys_point_add:
    li t0, 730231203
    lla t1, .Lname_sys_point_add
    li a7, 504
    ecall
    ret
    .size sys_point_add, . - sys_point_add
.section .rodata.sys_point_add, "a", @progbits
.Lname_sys_point_add:
    .asciz "Point::add"

/* Handle::next */
.section .text.sys_handle_next, "ax", @progbits
    .balign 2
    .globl sys_handle_next
    .type sys_handle_next, @function
sys_handle_next:
    li t0, 663762824
    lla t1, .Lname_sys_handle_next
    li a7, 504
    ecall
    ret
    .size sys_handle_next, . - sys_handle_next
.section .rodata.sys_handle_next, "a", @progbits
.Lname_sys_handle_next:
    .asciz "Handle::next"

/* Mixed::scale */
.section .text.sys_mixed_scale, "ax", @progbits
    .balign 2
    .globl sys_mixed_scale
    .type sys_mixed_scale, @function
sys_mixed_scale:
    li t0, -623019196
    lla t1, .Lname_sys_mixed_scale
    li a7, 504
    ecall
    ret
    .size sys_mixed_scale, . - sys_mixed_scale
.section .rodata.sys_mixed_scale, "a", @progbits
.Lname_sys_mixed_scale:
    .asciz "Mixed::scale"

/* Matrix::multiply */
.section .text.sys_matrix_multiply, "ax", @progbits
    .balign 2
    .globl sys_matrix_multiply
    .type sys_matrix_multiply, @function
sys_matrix_multiply:
    li t0, 1482807260
    lla t1, .Lname_sys_matrix_multiply
    li a7, 504
    ecall
    ret
    .size sys_matrix_multiply, . - sys_matrix_multiply
.section .rodata.sys_matrix_multiply, "a", @progbits
.Lname_sys_matrix_multiply:
    .asciz "Matrix::multiply"

/* Matrix::is_identity */
.section .text.sys_matrix_is_identity, "ax", @progbits
    .balign 2
    .globl sys_matrix_is_identity
    .type sys_matrix_is_identity, @function
sys_matrix_is_identity:
    li t0, 1563504816
    lla t1, .Lname_sys_matrix_is_identity
    li a7, 504
    ecall
    ret
    .size sys_matrix_is_identity, . - sys_matrix_is_identity
.section .rodata.sys_matrix_is_identity, "a", @progbits
.Lname_sys_matrix_is_identity:
    .asciz "Matrix::is_identity"

/* sum */
.section .text.sys_sum, "ax", @progbits
    .balign 2
    .globl sys_sum
    .type sys_sum, @function
sys_sum:
    li t0, -927097011
    lla t1, .Lname_sys_sum
    li a7, 504
    ecall
    ret
    .size sys_sum, . - sys_sum
.section .rodata.sys_sum, "a", @progbits
.Lname_sys_sum:
    .asciz "sum"

/* many */
.section .text.sys_many, "ax", @progbits
    .balign 2
    .globl sys_many
    .type sys_many, @function
sys_many:
    li t0, 1941626468
    lla t1, .Lname_sys_many
    li a7, 504
    ecall
    ret
    .size sys_many, . - sys_many
.section .rodata.sys_many, "a", @progbits
.Lname_sys_many:
    .asciz "many"

/* stack */
.section .text.sys_stack, "ax", @progbits
    .balign 2
    .globl sys_stack
    .type sys_stack, @function
sys_stack:
    .globl isys_stack
    .type isys_stack, @function
isys_stack:
    .globl dsys_stack
    .type dsys_stack, @function
dsys_stack:
    .reloc ., R_RISCV_NONE, riverrun_import_sys_stack
    .insn u 0x0b, x0, 49
    ret
    .size sys_stack, . - sys_stack
    .size isys_stack, . - isys_stack
    .size dsys_stack, . - dsys_stack
.section .riverrun.imports, "awG", @progbits, riverrun_import_sys_stack, comdat
    .balign 8
    .weak riverrun_import_sys_stack
    .hidden riverrun_import_sys_stack
riverrun_import_sys_stack:
    .word 49, 0x41a87b6a
    .dword .Limport_name_sys_stack, .Limport_signature_sys_stack
.section .rodata.riverrun_import, "aG", @progbits, riverrun_import_sys_stack, comdat
.Limport_name_sys_stack:
    .asciz "stack"
.Limport_signature_sys_stack:
    .asciz "i64 (u8, i16, i64, i64, i64, i64, i64, i64, i64, i32)"

/* eight */
.section .text.sys_eight, "ax", @progbits
    .balign 2
    .globl sys_eight
    .type sys_eight, @function
sys_eight:
    .reloc ., R_RISCV_NONE, riverrun_import_sys_eight
    .insn u 0x0b, x0, 50
    ret
    .size sys_eight, . - sys_eight
.section .riverrun.imports, "awG", @progbits, riverrun_import_sys_eight, comdat
    .balign 8
    .weak riverrun_import_sys_eight
    .hidden riverrun_import_sys_eight
riverrun_import_sys_eight:
    .word 50, 0x660a3e86
    .dword .Limport_name_sys_eight, .Limport_signature_sys_eight
.section .rodata.riverrun_import, "aG", @progbits, riverrun_import_sys_eight, comdat
.Limport_name_sys_eight:
    .asciz "eight"
.Limport_signature_sys_eight:
    .asciz "i32 (i32, i32, i32, i32, i32, i32, i32, i32)"

/* floats */
.section .text.sys_floats, "ax", @progbits
    .balign 2
    .globl sys_floats
    .type sys_floats, @function
sys_floats:
    li t0, -1683878498
    lla t1, .Lname_sys_floats
    li a7, 504
    ecall
    ret
    .size sys_floats, . - sys_floats
.section .rodata.sys_floats, "a", @progbits
.Lname_sys_floats:
    .asciz "floats"

/* narrow */
.section .text.sys_narrow, "ax", @progbits
    .balign 2
    .globl sys_narrow
    .type sys_narrow, @function
sys_narrow:
    li t0, -1658202454
    lla t1, .Lname_sys_narrow
    li a7, 504
    ecall
    ret
    .size sys_narrow, . - sys_narrow
.section .rodata.sys_narrow, "a", @progbits
.Lname_sys_narrow:
    .asciz "narrow"

/* narrowed */
.section .text.sys_narrowed, "ax", @progbits
    .balign 2
    .globl sys_narrowed
    .type sys_narrowed, @function
sys_narrowed:
    li t0, 685020919
    lla t1, .Lname_sys_narrowed
    li a7, 504
    ecall
    ret
    .size sys_narrowed, . - sys_narrowed
.section .rodata.sys_narrowed, "a", @progbits
.Lname_sys_narrowed:
    .asciz "narrowed"

/* odd {name} 100%|$x */
.section .text.sys_odd, "ax", @progbits
    .balign 2
    .globl sys_odd
    .type sys_odd, @function
sys_odd:
    li t0, 1797834633
    lla t1, .Lname_sys_odd
    li a7, 504
    ecall
    ret
    .size sys_odd, . - sys_odd
.section .rodata.sys_odd, "a", @progbits
.Lname_sys_odd:
    .asciz "odd \173name\175 100\045\174\044x"

/* empty */
.section .text.sys_empty, "ax", @progbits
    .balign 2
    .globl sys_empty
    .type sys_empty, @function
sys_empty:
    li t0, 1757887940
    lla t1, .Lname_sys_empty
    li a7, 504
    ecall
    ret
    .size sys_empty, . - sys_empty
.section .rodata.sys_empty, "a", @progbits
.Lname_sys_empty:
    .asciz "empty"

"#,
    options(raw)
);

unsafe extern "C" {
    /// `Game::set_title`.
    pub fn sys_set_title(title: *const u8);
    /// `Game::exit`.
    pub fn sys_game_exit();
    /// `Timer::stop`.
    pub fn sys_timer_stop(arg0: i32);
    /// `Timer::periodic`.
    pub fn sys_timer_periodic(arg0: f32, arg1: f32, arg2: Option<unsafe extern "C" fn(i32, *mut core::ffi::c_void)>, arg3: *mut core::ffi::c_void, arg4: u64) -> i32;
    /// `Debug::breakpoint`.
    pub fn sys_breakpoint(arg0: u16, arg1: *const u8);
    /// `Debug::is_debug`.
    pub fn sys_is_debug() -> i32;
    /// `GUI::label`.
    pub fn sys_gui_label(arg0: u32, arg1: *const u8) -> u32;
    /// `World::save`.
    pub fn sys_world_save(class_: u32, arg1: *const TestData) -> bool;
    /// `World::texture`.
    pub fn sys_texture(arg0: *mut node, done: Option<unsafe extern "C" fn(*mut Texture, i32)>) -> *mut Texture;
    /// `Point::length`.
    pub fn sys_point_length(arg0: Point) -> f32;
    /// `Point::add`.
    pub fn sys_point_add(arg0: Point, arg1: Point) -> Point;
    /// `Handle::next`.
    pub fn sys_handle_next(arg0: Handle) -> Handle;
    /// `Mixed::scale`.
    pub fn sys_mixed_scale(m: Mixed, by: f64) -> Mixed;
    /// `Matrix::multiply`.
    pub fn sys_matrix_multiply(m: *mut [f32; 4], by: *const [f32; 4]);
    /// `Matrix::is_identity`.
    pub fn sys_matrix_is_identity(m: *const f32) -> bool;
    /// `sum`.
    pub fn sys_sum(values: *const f32, count: u64) -> f32;
    /// `many`.
    pub fn sys_many(arg0: i32, arg1: i32, arg2: i32, arg3: i32, arg4: i32) -> i64;
    /// `stack`.
    pub fn sys_stack(a: u8, b: i16, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64, i: i64, j: i32) -> i64;
    /// `stack`.
    pub fn isys_stack(a: u8, b: i16, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64, i: i64, j: i32) -> i64;
    /// `stack`.
    pub fn dsys_stack(a: u8, b: i16, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64, i: i64, j: i32) -> i64;
    /// `eight`.
    pub fn sys_eight(arg0: i32, arg1: i32, arg2: i32, arg3: i32, arg4: i32, arg5: i32, arg6: i32, arg7: i32) -> i32;
    /// `floats`.
    pub fn sys_floats(arg0: f32, arg1: f64, arg2: f32, arg3: f32, arg4: f32, arg5: f32, arg6: f32, arg7: f32, arg8: f32, arg9: Point) -> f64;
    /// `narrow`.
    pub fn sys_narrow(arg0: i8, arg1: u8, arg2: i16, arg3: bool, arg4: u8) -> i8;
    /// `narrowed`.
    pub fn sys_narrowed(arg0: f64) -> f32;
    /// `odd {name} 100%|$x`.
    pub fn sys_odd();
    /// `empty`.
    pub fn sys_empty();
}

/// `Game::set_title`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_set_title(title: *const u8) {
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            in("a0") title,
            in("a7") 0x820f292d_u32 as i32 as i64,
            options(nostack)
        );
    }
}

/// `Game::set_title`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_set_title(title: *const u8) {
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_set_title",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_set_title, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_set_title",
            ".hidden riverrun_import_sys_set_title",
            "riverrun_import_sys_set_title:",
            ".word 32, 0x820f292d",
            ".dword .Limport_name_sys_set_title, .Limport_signature_sys_set_title",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_set_title, comdat",
            ".Limport_name_sys_set_title: .asciz \"Game::set_title\"",
            ".Limport_signature_sys_set_title: .asciz \"void (ptr)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_set_title",
            ".insn u 0x0b, x0, 32",
            in("a0") title,
            options(nostack)
        );
    }
}

/// `Game::exit`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_game_exit() {
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            in("a7") 0xbda9e89e_u32 as i32 as i64,
            options(nostack)
        );
    }
}

/// `Game::exit`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_game_exit() {
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_game_exit",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_game_exit, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_game_exit",
            ".hidden riverrun_import_sys_game_exit",
            "riverrun_import_sys_game_exit:",
            ".word 33, 0xbda9e89e",
            ".dword .Limport_name_sys_game_exit, .Limport_signature_sys_game_exit",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_game_exit, comdat",
            ".Limport_name_sys_game_exit: .asciz \"Game::exit\"",
            ".Limport_signature_sys_game_exit: .asciz \"void ()\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_game_exit",
            ".insn u 0x0b, x0, 33",
            options(nostack)
        );
    }
}

/// `Timer::stop`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_timer_stop(arg0: i32) {
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            in("a0") arg0 as i64,
            in("a7") 0x16a07498_u32 as i32 as i64,
            options(nostack)
        );
    }
}

/// `Timer::stop`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_timer_stop(arg0: i32) {
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_timer_stop",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_timer_stop, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_timer_stop",
            ".hidden riverrun_import_sys_timer_stop",
            "riverrun_import_sys_timer_stop:",
            ".word 34, 0x16a07498",
            ".dword .Limport_name_sys_timer_stop, .Limport_signature_sys_timer_stop",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_timer_stop, comdat",
            ".Limport_name_sys_timer_stop: .asciz \"Timer::stop\"",
            ".Limport_signature_sys_timer_stop: .asciz \"void (i32)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_timer_stop",
            ".insn u 0x0b, x0, 34",
            in("a0") arg0 as i64,
            options(nostack)
        );
    }
}

/// `Timer::periodic`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_timer_periodic(arg0: f32, arg1: f32, arg2: Option<unsafe extern "C" fn(i32, *mut core::ffi::c_void)>, arg3: *mut core::ffi::c_void, arg4: u64) -> i32 {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            in("fa0") arg0,
            in("fa1") arg1,
            inlateout("a0") core::mem::transmute::<_, u64>(arg2) => riverrun_result_a0,
            in("a1") arg3,
            in("a2") arg4 as i64,
            in("a7") 0x811acfe9_u32 as i32 as i64,
            options(nostack)
        );
    }
    riverrun_result_a0 as i32
}

/// `Timer::periodic`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_timer_periodic(arg0: f32, arg1: f32, arg2: Option<unsafe extern "C" fn(i32, *mut core::ffi::c_void)>, arg3: *mut core::ffi::c_void, arg4: u64) -> i32 {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_timer_periodic",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_timer_periodic, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_timer_periodic",
            ".hidden riverrun_import_sys_timer_periodic",
            "riverrun_import_sys_timer_periodic:",
            ".word 35, 0x811acfe9",
            ".dword .Limport_name_sys_timer_periodic, .Limport_signature_sys_timer_periodic",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_timer_periodic, comdat",
            ".Limport_name_sys_timer_periodic: .asciz \"Timer::periodic\"",
            ".Limport_signature_sys_timer_periodic: .asciz \"i32 (f32, f32, ptr, ptr, u64)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_timer_periodic",
            ".insn u 0x0b, x0, 35",
            in("fa0") arg0,
            in("fa1") arg1,
            inlateout("a0") core::mem::transmute::<_, u64>(arg2) => riverrun_result_a0,
            in("a1") arg3,
            in("a2") arg4 as i64,
            options(nostack)
        );
    }
    riverrun_result_a0 as i32
}

/// `Debug::breakpoint`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_breakpoint(arg0: u16, arg1: *const u8) {
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            in("a0") arg0 as i64,
            in("a1") arg1,
            in("a7") 0xcaaff686_u32 as i32 as i64,
            options(nostack)
        );
    }
}

/// `Debug::breakpoint`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_breakpoint(arg0: u16, arg1: *const u8) {
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_breakpoint",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_breakpoint, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_breakpoint",
            ".hidden riverrun_import_sys_breakpoint",
            "riverrun_import_sys_breakpoint:",
            ".word 36, 0xcaaff686",
            ".dword .Limport_name_sys_breakpoint, .Limport_signature_sys_breakpoint",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_breakpoint, comdat",
            ".Limport_name_sys_breakpoint: .asciz \"Debug::breakpoint\"",
            ".Limport_signature_sys_breakpoint: .asciz \"void (u16, ptr)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_breakpoint",
            ".insn u 0x0b, x0, 36",
            in("a0") arg0 as i64,
            in("a1") arg1,
            options(nostack)
        );
    }
}

/// `Debug::is_debug`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_is_debug() -> i32 {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            lateout("a0") riverrun_result_a0,
            in("a7") 0xb536c5f4_u32 as i32 as i64,
            options(nostack)
        );
    }
    riverrun_result_a0 as i32
}

/// `Debug::is_debug`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_is_debug() -> i32 {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_is_debug",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_is_debug, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_is_debug",
            ".hidden riverrun_import_sys_is_debug",
            "riverrun_import_sys_is_debug:",
            ".word 37, 0xb536c5f4",
            ".dword .Limport_name_sys_is_debug, .Limport_signature_sys_is_debug",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_is_debug, comdat",
            ".Limport_name_sys_is_debug: .asciz \"Debug::is_debug\"",
            ".Limport_signature_sys_is_debug: .asciz \"i32 ()\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_is_debug",
            ".insn u 0x0b, x0, 37",
            lateout("a0") riverrun_result_a0,
            options(nostack)
        );
    }
    riverrun_result_a0 as i32
}

/// `GUI::label`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_gui_label(arg0: u32, arg1: *const u8) -> u32 {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            inlateout("a0") arg0 as i32 as i64 => riverrun_result_a0,
            in("a1") arg1,
            in("a7") 0xf08cd072_u32 as i32 as i64,
            options(nostack)
        );
    }
    riverrun_result_a0 as u32
}

/// `GUI::label`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_gui_label(arg0: u32, arg1: *const u8) -> u32 {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_gui_label",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_gui_label, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_gui_label",
            ".hidden riverrun_import_sys_gui_label",
            "riverrun_import_sys_gui_label:",
            ".word 38, 0xf08cd072",
            ".dword .Limport_name_sys_gui_label, .Limport_signature_sys_gui_label",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_gui_label, comdat",
            ".Limport_name_sys_gui_label: .asciz \"GUI::label\"",
            ".Limport_signature_sys_gui_label: .asciz \"u32 (u32, ptr)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_gui_label",
            ".insn u 0x0b, x0, 38",
            inlateout("a0") arg0 as i32 as i64 => riverrun_result_a0,
            in("a1") arg1,
            options(nostack)
        );
    }
    riverrun_result_a0 as u32
}

/// `World::save`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_world_save(class_: u32, arg1: *const TestData) -> bool {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            inlateout("a0") class_ as i32 as i64 => riverrun_result_a0,
            in("a1") arg1,
            in("a7") 0x065471c9_u32 as i32 as i64,
            options(nostack)
        );
    }
    riverrun_result_a0 as u8 != 0
}

/// `World::save`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_world_save(class_: u32, arg1: *const TestData) -> bool {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_world_save",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_world_save, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_world_save",
            ".hidden riverrun_import_sys_world_save",
            "riverrun_import_sys_world_save:",
            ".word 39, 0x065471c9",
            ".dword .Limport_name_sys_world_save, .Limport_signature_sys_world_save",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_world_save, comdat",
            ".Limport_name_sys_world_save: .asciz \"World::save\"",
            ".Limport_signature_sys_world_save: .asciz \"bool (u32, ptr)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_world_save",
            ".insn u 0x0b, x0, 39",
            inlateout("a0") class_ as i32 as i64 => riverrun_result_a0,
            in("a1") arg1,
            options(nostack)
        );
    }
    riverrun_result_a0 as u8 != 0
}

/// `World::texture`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_texture(arg0: *mut node, done: Option<unsafe extern "C" fn(*mut Texture, i32)>) -> *mut Texture {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            inlateout("a0") arg0 => riverrun_result_a0,
            in("a1") core::mem::transmute::<_, u64>(done),
            in("a7") 0x40557f9a_u32 as i32 as i64,
            options(nostack)
        );
    }
    riverrun_result_a0 as *mut Texture
}

/// `World::texture`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_texture(arg0: *mut node, done: Option<unsafe extern "C" fn(*mut Texture, i32)>) -> *mut Texture {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_texture",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_texture, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_texture",
            ".hidden riverrun_import_sys_texture",
            "riverrun_import_sys_texture:",
            ".word 40, 0x40557f9a",
            ".dword .Limport_name_sys_texture, .Limport_signature_sys_texture",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_texture, comdat",
            ".Limport_name_sys_texture: .asciz \"World::texture\"",
            ".Limport_signature_sys_texture: .asciz \"ptr (ptr, ptr)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_texture",
            ".insn u 0x0b, x0, 40",
            inlateout("a0") arg0 => riverrun_result_a0,
            in("a1") core::mem::transmute::<_, u64>(done),
            options(nostack)
        );
    }
    riverrun_result_a0 as *mut Texture
}

/// `Point::length`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_point_length(arg0: Point) -> f32 {
    let riverrun_result_fa0: f32;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            inlateout("fa0") { let mut riverrun_part: f32 = 0.0; core::ptr::copy_nonoverlapping((&raw const arg0).cast::<u8>().add(0), (&raw mut riverrun_part).cast(), 4); riverrun_part } => riverrun_result_fa0,
            in("fa1") { let mut riverrun_part: f32 = 0.0; core::ptr::copy_nonoverlapping((&raw const arg0).cast::<u8>().add(4), (&raw mut riverrun_part).cast(), 4); riverrun_part },
            in("a7") 0xbd610695_u32 as i32 as i64,
            options(nostack, nomem)
        );
    }
    riverrun_result_fa0
}

/// `Point::length`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_point_length(arg0: Point) -> f32 {
    let riverrun_result_fa0: f32;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_point_length",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_point_length, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_point_length",
            ".hidden riverrun_import_sys_point_length",
            "riverrun_import_sys_point_length:",
            ".word 41, 0xbd610695",
            ".dword .Limport_name_sys_point_length, .Limport_signature_sys_point_length",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_point_length, comdat",
            ".Limport_name_sys_point_length: .asciz \"Point::length\"",
            ".Limport_signature_sys_point_length: .asciz \"f32 (f32, f32)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_point_length",
            ".insn u 0x0b, x0, 41",
            inlateout("fa0") { let mut riverrun_part: f32 = 0.0; core::ptr::copy_nonoverlapping((&raw const arg0).cast::<u8>().add(0), (&raw mut riverrun_part).cast(), 4); riverrun_part } => riverrun_result_fa0,
            in("fa1") { let mut riverrun_part: f32 = 0.0; core::ptr::copy_nonoverlapping((&raw const arg0).cast::<u8>().add(4), (&raw mut riverrun_part).cast(), 4); riverrun_part },
            options(nostack, nomem)
        );
    }
    riverrun_result_fa0
}

/// `Point::add`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_point_add(arg0: Point, arg1: Point) -> Point {
    let riverrun_result_fa0: f32;
    let riverrun_result_fa1: f32;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            inlateout("fa0") { let mut riverrun_part: f32 = 0.0; core::ptr::copy_nonoverlapping((&raw const arg0).cast::<u8>().add(0), (&raw mut riverrun_part).cast(), 4); riverrun_part } => riverrun_result_fa0,
            inlateout("fa1") { let mut riverrun_part: f32 = 0.0; core::ptr::copy_nonoverlapping((&raw const arg0).cast::<u8>().add(4), (&raw mut riverrun_part).cast(), 4); riverrun_part } => riverrun_result_fa1,
            in("fa2") { let mut riverrun_part: f32 = 0.0; core::ptr::copy_nonoverlapping((&raw const arg1).cast::<u8>().add(0), (&raw mut riverrun_part).cast(), 4); riverrun_part },
            in("fa3") { let mut riverrun_part: f32 = 0.0; core::ptr::copy_nonoverlapping((&raw const arg1).cast::<u8>().add(4), (&raw mut riverrun_part).cast(), 4); riverrun_part },
            in("a7") 0x2b8671a3_u32 as i32 as i64,
            options(nostack)
        );
    }
    let mut result = core::mem::MaybeUninit::<Point>::zeroed();
    // SAFETY: the pieces lie in the result, of whose type the host gives a value.
    unsafe {
        core::ptr::copy_nonoverlapping((&raw const riverrun_result_fa0).cast::<u8>(), result.as_mut_ptr().cast::<u8>().add(0), 4);
        core::ptr::copy_nonoverlapping((&raw const riverrun_result_fa1).cast::<u8>(), result.as_mut_ptr().cast::<u8>().add(4), 4);
        result.assume_init()
    }
}

/// `Point::add`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_point_add(arg0: Point, arg1: Point) -> Point {
    let riverrun_result_fa0: f32;
    let riverrun_result_fa1: f32;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_point_add",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_point_add, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_point_add",
            ".hidden riverrun_import_sys_point_add",
            "riverrun_import_sys_point_add:",
            ".word 42, 0x2b8671a3",
            ".dword .Limport_name_sys_point_add, .Limport_signature_sys_point_add",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_point_add, comdat",
            ".Limport_name_sys_point_add: .asciz \"Point::add\"",
            ".Limport_signature_sys_point_add: .asciz \"\\173f32, f32\\175 (f32, f32, f32, f32)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_point_add",
            ".insn u 0x0b, x0, 42",
            inlateout("fa0") { let mut riverrun_part: f32 = 0.0; core::ptr::copy_nonoverlapping((&raw const arg0).cast::<u8>().add(0), (&raw mut riverrun_part).cast(), 4); riverrun_part } => riverrun_result_fa0,
            inlateout("fa1") { let mut riverrun_part: f32 = 0.0; core::ptr::copy_nonoverlapping((&raw const arg0).cast::<u8>().add(4), (&raw mut riverrun_part).cast(), 4); riverrun_part } => riverrun_result_fa1,
            in("fa2") { let mut riverrun_part: f32 = 0.0; core::ptr::copy_nonoverlapping((&raw const arg1).cast::<u8>().add(0), (&raw mut riverrun_part).cast(), 4); riverrun_part },
            in("fa3") { let mut riverrun_part: f32 = 0.0; core::ptr::copy_nonoverlapping((&raw const arg1).cast::<u8>().add(4), (&raw mut riverrun_part).cast(), 4); riverrun_part },
            options(nostack)
        );
    }
    let mut result = core::mem::MaybeUninit::<Point>::zeroed();
    // SAFETY: the pieces lie in the result, of whose type the host gives a value.
    unsafe {
        core::ptr::copy_nonoverlapping((&raw const riverrun_result_fa0).cast::<u8>(), result.as_mut_ptr().cast::<u8>().add(0), 4);
        core::ptr::copy_nonoverlapping((&raw const riverrun_result_fa1).cast::<u8>(), result.as_mut_ptr().cast::<u8>().add(4), 4);
        result.assume_init()
    }
}

/// `Handle::next`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_handle_next(arg0: Handle) -> Handle {
    let riverrun_result_a0: u64;
    let riverrun_result_a1: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            inlateout("a0") { let mut riverrun_part: u64 = 0; core::ptr::copy_nonoverlapping((&raw const arg0).cast::<u8>().add(0), (&raw mut riverrun_part).cast(), 8); riverrun_part } as i64 => riverrun_result_a0,
            inlateout("a1") { let mut riverrun_part: u64 = 0; core::ptr::copy_nonoverlapping((&raw const arg0).cast::<u8>().add(8), (&raw mut riverrun_part).cast(), 8); riverrun_part } as i64 => riverrun_result_a1,
            in("a7") 0x27903788_u32 as i32 as i64,
            options(nostack)
        );
    }
    let mut result = core::mem::MaybeUninit::<Handle>::zeroed();
    // SAFETY: the pieces lie in the result, of whose type the host gives a value.
    unsafe {
        core::ptr::copy_nonoverlapping((&raw const riverrun_result_a0).cast::<u8>(), result.as_mut_ptr().cast::<u8>().add(0), 8);
        core::ptr::copy_nonoverlapping((&raw const riverrun_result_a1).cast::<u8>(), result.as_mut_ptr().cast::<u8>().add(8), 8);
        result.assume_init()
    }
}

/// `Handle::next`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_handle_next(arg0: Handle) -> Handle {
    let riverrun_result_a0: u64;
    let riverrun_result_a1: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_handle_next",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_handle_next, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_handle_next",
            ".hidden riverrun_import_sys_handle_next",
            "riverrun_import_sys_handle_next:",
            ".word 43, 0x27903788",
            ".dword .Limport_name_sys_handle_next, .Limport_signature_sys_handle_next",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_handle_next, comdat",
            ".Limport_name_sys_handle_next: .asciz \"Handle::next\"",
            ".Limport_signature_sys_handle_next: .asciz \"\\173u64, u64\\175 (u64, u64)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_handle_next",
            ".insn u 0x0b, x0, 43",
            inlateout("a0") { let mut riverrun_part: u64 = 0; core::ptr::copy_nonoverlapping((&raw const arg0).cast::<u8>().add(0), (&raw mut riverrun_part).cast(), 8); riverrun_part } as i64 => riverrun_result_a0,
            inlateout("a1") { let mut riverrun_part: u64 = 0; core::ptr::copy_nonoverlapping((&raw const arg0).cast::<u8>().add(8), (&raw mut riverrun_part).cast(), 8); riverrun_part } as i64 => riverrun_result_a1,
            options(nostack)
        );
    }
    let mut result = core::mem::MaybeUninit::<Handle>::zeroed();
    // SAFETY: the pieces lie in the result, of whose type the host gives a value.
    unsafe {
        core::ptr::copy_nonoverlapping((&raw const riverrun_result_a0).cast::<u8>(), result.as_mut_ptr().cast::<u8>().add(0), 8);
        core::ptr::copy_nonoverlapping((&raw const riverrun_result_a1).cast::<u8>(), result.as_mut_ptr().cast::<u8>().add(8), 8);
        result.assume_init()
    }
}

/// `Mixed::scale`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_mixed_scale(m: Mixed, by: f64) -> Mixed {
    let riverrun_result_fa0: f64;
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            inlateout("fa0") { let mut riverrun_part: f64 = 0.0; core::ptr::copy_nonoverlapping((&raw const m).cast::<u8>().add(0), (&raw mut riverrun_part).cast(), 8); riverrun_part } => riverrun_result_fa0,
            inlateout("a0") { let mut riverrun_part: i16 = 0; core::ptr::copy_nonoverlapping((&raw const m).cast::<u8>().add(8), (&raw mut riverrun_part).cast(), 2); riverrun_part } as i64 => riverrun_result_a0,
            in("fa1") by,
            in("a7") 0xdadd7b44_u32 as i32 as i64,
            options(nostack)
        );
    }
    let mut result = core::mem::MaybeUninit::<Mixed>::zeroed();
    // SAFETY: the pieces lie in the result, of whose type the host gives a value.
    unsafe {
        core::ptr::copy_nonoverlapping((&raw const riverrun_result_fa0).cast::<u8>(), result.as_mut_ptr().cast::<u8>().add(0), 8);
        core::ptr::copy_nonoverlapping((&raw const riverrun_result_a0).cast::<u8>(), result.as_mut_ptr().cast::<u8>().add(8), 2);
        result.assume_init()
    }
}

/// `Mixed::scale`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_mixed_scale(m: Mixed, by: f64) -> Mixed {
    let riverrun_result_fa0: f64;
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_mixed_scale",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_mixed_scale, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_mixed_scale",
            ".hidden riverrun_import_sys_mixed_scale",
            "riverrun_import_sys_mixed_scale:",
            ".word 44, 0xdadd7b44",
            ".dword .Limport_name_sys_mixed_scale, .Limport_signature_sys_mixed_scale",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_mixed_scale, comdat",
            ".Limport_name_sys_mixed_scale: .asciz \"Mixed::scale\"",
            ".Limport_signature_sys_mixed_scale: .asciz \"\\173f64, i16\\175 (f64, i16, f64)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_mixed_scale",
            ".insn u 0x0b, x0, 44",
            inlateout("fa0") { let mut riverrun_part: f64 = 0.0; core::ptr::copy_nonoverlapping((&raw const m).cast::<u8>().add(0), (&raw mut riverrun_part).cast(), 8); riverrun_part } => riverrun_result_fa0,
            inlateout("a0") { let mut riverrun_part: i16 = 0; core::ptr::copy_nonoverlapping((&raw const m).cast::<u8>().add(8), (&raw mut riverrun_part).cast(), 2); riverrun_part } as i64 => riverrun_result_a0,
            in("fa1") by,
            options(nostack)
        );
    }
    let mut result = core::mem::MaybeUninit::<Mixed>::zeroed();
    // SAFETY: the pieces lie in the result, of whose type the host gives a value.
    unsafe {
        core::ptr::copy_nonoverlapping((&raw const riverrun_result_fa0).cast::<u8>(), result.as_mut_ptr().cast::<u8>().add(0), 8);
        core::ptr::copy_nonoverlapping((&raw const riverrun_result_a0).cast::<u8>(), result.as_mut_ptr().cast::<u8>().add(8), 2);
        result.assume_init()
    }
}

/// `Matrix::multiply`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_matrix_multiply(m: *mut [f32; 4], by: *const [f32; 4]) {
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            in("a0") m,
            in("a1") by,
            in("a7") 0x5861d7dc_u32 as i32 as i64,
            options(nostack)
        );
    }
}

/// `Matrix::multiply`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_matrix_multiply(m: *mut [f32; 4], by: *const [f32; 4]) {
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_matrix_multiply",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_matrix_multiply, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_matrix_multiply",
            ".hidden riverrun_import_sys_matrix_multiply",
            "riverrun_import_sys_matrix_multiply:",
            ".word 45, 0x5861d7dc",
            ".dword .Limport_name_sys_matrix_multiply, .Limport_signature_sys_matrix_multiply",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_matrix_multiply, comdat",
            ".Limport_name_sys_matrix_multiply: .asciz \"Matrix::multiply\"",
            ".Limport_signature_sys_matrix_multiply: .asciz \"void (ptr, ptr)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_matrix_multiply",
            ".insn u 0x0b, x0, 45",
            in("a0") m,
            in("a1") by,
            options(nostack)
        );
    }
}

/// `Matrix::is_identity`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_matrix_is_identity(m: *const f32) -> bool {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            inlateout("a0") m => riverrun_result_a0,
            in("a7") 0x5d3130b0_u32 as i32 as i64,
            options(nostack, readonly)
        );
    }
    riverrun_result_a0 as u8 != 0
}

/// `Matrix::is_identity`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_matrix_is_identity(m: *const f32) -> bool {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_matrix_is_identity",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_matrix_is_identity, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_matrix_is_identity",
            ".hidden riverrun_import_sys_matrix_is_identity",
            "riverrun_import_sys_matrix_is_identity:",
            ".word 46, 0x5d3130b0",
            ".dword .Limport_name_sys_matrix_is_identity, .Limport_signature_sys_matrix_is_identity",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_matrix_is_identity, comdat",
            ".Limport_name_sys_matrix_is_identity: .asciz \"Matrix::is_identity\"",
            ".Limport_signature_sys_matrix_is_identity: .asciz \"bool (ptr)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_matrix_is_identity",
            ".insn u 0x0b, x0, 46",
            inlateout("a0") m => riverrun_result_a0,
            options(nostack, readonly)
        );
    }
    riverrun_result_a0 as u8 != 0
}

/// `sum`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_sum(values: *const f32, count: u64) -> f32 {
    let riverrun_result_fa0: f32;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            in("a0") values,
            in("a1") count as i64,
            lateout("fa0") riverrun_result_fa0,
            in("a7") 0xc8bd9f4d_u32 as i32 as i64,
            options(nostack)
        );
    }
    riverrun_result_fa0
}

/// `sum`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_sum(values: *const f32, count: u64) -> f32 {
    let riverrun_result_fa0: f32;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_sum",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_sum, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_sum",
            ".hidden riverrun_import_sys_sum",
            "riverrun_import_sys_sum:",
            ".word 47, 0xc8bd9f4d",
            ".dword .Limport_name_sys_sum, .Limport_signature_sys_sum",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_sum, comdat",
            ".Limport_name_sys_sum: .asciz \"sum\"",
            ".Limport_signature_sys_sum: .asciz \"f32 (ptr, u64)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_sum",
            ".insn u 0x0b, x0, 47",
            in("a0") values,
            in("a1") count as i64,
            lateout("fa0") riverrun_result_fa0,
            options(nostack)
        );
    }
    riverrun_result_fa0
}

/// `many`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_many(arg0: i32, arg1: i32, arg2: i32, arg3: i32, arg4: i32) -> i64 {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            inlateout("a0") arg0 as i64 => riverrun_result_a0,
            in("a1") arg1 as i64,
            in("a2") arg2 as i64,
            in("a3") arg3 as i64,
            in("a4") arg4 as i64,
            in("a7") 0x73bade64_u32 as i32 as i64,
            options(nostack)
        );
    }
    riverrun_result_a0 as i64
}

/// `many`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_many(arg0: i32, arg1: i32, arg2: i32, arg3: i32, arg4: i32) -> i64 {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_many",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_many, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_many",
            ".hidden riverrun_import_sys_many",
            "riverrun_import_sys_many:",
            ".word 48, 0x73bade64",
            ".dword .Limport_name_sys_many, .Limport_signature_sys_many",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_many, comdat",
            ".Limport_name_sys_many: .asciz \"many\"",
            ".Limport_signature_sys_many: .asciz \"i64 (i32, i32, i32, i32, i32)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_many",
            ".insn u 0x0b, x0, 48",
            inlateout("a0") arg0 as i64 => riverrun_result_a0,
            in("a1") arg1 as i64,
            in("a2") arg2 as i64,
            in("a3") arg3 as i64,
            in("a4") arg4 as i64,
            options(nostack)
        );
    }
    riverrun_result_a0 as i64
}

/// `eight`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn isys_eight(arg0: i32, arg1: i32, arg2: i32, arg3: i32, arg4: i32, arg5: i32, arg6: i32, arg7: i32) -> i32 {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_eight",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_eight, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_eight",
            ".hidden riverrun_import_sys_eight",
            "riverrun_import_sys_eight:",
            ".word 50, 0x660a3e86",
            ".dword .Limport_name_sys_eight, .Limport_signature_sys_eight",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_eight, comdat",
            ".Limport_name_sys_eight: .asciz \"eight\"",
            ".Limport_signature_sys_eight: .asciz \"i32 (i32, i32, i32, i32, i32, i32, i32, i32)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_eight",
            ".insn u 0x0b, x0, 50",
            inlateout("a0") arg0 as i64 => riverrun_result_a0,
            in("a1") arg1 as i64,
            in("a2") arg2 as i64,
            in("a3") arg3 as i64,
            in("a4") arg4 as i64,
            in("a5") arg5 as i64,
            in("a6") arg6 as i64,
            in("a7") arg7 as i64,
            options(nostack)
        );
    }
    riverrun_result_a0 as i32
}

/// `eight`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_eight(arg0: i32, arg1: i32, arg2: i32, arg3: i32, arg4: i32, arg5: i32, arg6: i32, arg7: i32) -> i32 {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_eight",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_eight, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_eight",
            ".hidden riverrun_import_sys_eight",
            "riverrun_import_sys_eight:",
            ".word 50, 0x660a3e86",
            ".dword .Limport_name_sys_eight, .Limport_signature_sys_eight",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_eight, comdat",
            ".Limport_name_sys_eight: .asciz \"eight\"",
            ".Limport_signature_sys_eight: .asciz \"i32 (i32, i32, i32, i32, i32, i32, i32, i32)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_eight",
            ".insn u 0x0b, x0, 50",
            inlateout("a0") arg0 as i64 => riverrun_result_a0,
            in("a1") arg1 as i64,
            in("a2") arg2 as i64,
            in("a3") arg3 as i64,
            in("a4") arg4 as i64,
            in("a5") arg5 as i64,
            in("a6") arg6 as i64,
            in("a7") arg7 as i64,
            options(nostack)
        );
    }
    riverrun_result_a0 as i32
}

/// `floats`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_floats(arg0: f32, arg1: f64, arg2: f32, arg3: f32, arg4: f32, arg5: f32, arg6: f32, arg7: f32, arg8: f32, arg9: Point) -> f64 {
    let riverrun_result_fa0: f64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            inlateout("fa0") f64::from_bits(0xffff_ffff_0000_0000 | arg0.to_bits() as u64) => riverrun_result_fa0,
            in("fa1") arg1,
            in("fa2") arg2,
            in("fa3") arg3,
            in("fa4") arg4,
            in("fa5") arg5,
            in("fa6") arg6,
            in("fa7") arg7,
            in("a0") arg8,
            in("a1") { let mut riverrun_part: u64 = 0; core::ptr::copy_nonoverlapping((&raw const arg9).cast::<u8>().add(0), (&raw mut riverrun_part).cast(), 8); riverrun_part } as i64,
            in("a7") 0x9ba20d9e_u32 as i32 as i64,
            options(nostack)
        );
    }
    riverrun_result_fa0
}

/// `floats`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_floats(arg0: f32, arg1: f64, arg2: f32, arg3: f32, arg4: f32, arg5: f32, arg6: f32, arg7: f32, arg8: f32, arg9: Point) -> f64 {
    let riverrun_result_fa0: f64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_floats",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_floats, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_floats",
            ".hidden riverrun_import_sys_floats",
            "riverrun_import_sys_floats:",
            ".word 51, 0x9ba20d9e",
            ".dword .Limport_name_sys_floats, .Limport_signature_sys_floats",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_floats, comdat",
            ".Limport_name_sys_floats: .asciz \"floats\"",
            ".Limport_signature_sys_floats: .asciz \"f64 (f32, f64, f32, f32, f32, f32, f32, f32, f32, u64)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_floats",
            ".insn u 0x0b, x0, 51",
            inlateout("fa0") f64::from_bits(0xffff_ffff_0000_0000 | arg0.to_bits() as u64) => riverrun_result_fa0,
            in("fa1") arg1,
            in("fa2") arg2,
            in("fa3") arg3,
            in("fa4") arg4,
            in("fa5") arg5,
            in("fa6") arg6,
            in("fa7") arg7,
            in("a0") arg8,
            in("a1") { let mut riverrun_part: u64 = 0; core::ptr::copy_nonoverlapping((&raw const arg9).cast::<u8>().add(0), (&raw mut riverrun_part).cast(), 8); riverrun_part } as i64,
            options(nostack)
        );
    }
    riverrun_result_fa0
}

/// `narrow`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_narrow(arg0: i8, arg1: u8, arg2: i16, arg3: bool, arg4: u8) -> i8 {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            inlateout("a0") arg0 as i64 => riverrun_result_a0,
            in("a1") arg1 as i64,
            in("a2") arg2 as i64,
            in("a3") arg3 as i64,
            in("a4") arg4 as i64,
            in("a7") 0x9d29d6aa_u32 as i32 as i64,
            options(nostack)
        );
    }
    riverrun_result_a0 as i8
}

/// `narrow`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_narrow(arg0: i8, arg1: u8, arg2: i16, arg3: bool, arg4: u8) -> i8 {
    let riverrun_result_a0: u64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_narrow",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_narrow, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_narrow",
            ".hidden riverrun_import_sys_narrow",
            "riverrun_import_sys_narrow:",
            ".word 52, 0x9d29d6aa",
            ".dword .Limport_name_sys_narrow, .Limport_signature_sys_narrow",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_narrow, comdat",
            ".Limport_name_sys_narrow: .asciz \"narrow\"",
            ".Limport_signature_sys_narrow: .asciz \"i8 (i8, u8, i16, bool, u8)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_narrow",
            ".insn u 0x0b, x0, 52",
            inlateout("a0") arg0 as i64 => riverrun_result_a0,
            in("a1") arg1 as i64,
            in("a2") arg2 as i64,
            in("a3") arg3 as i64,
            in("a4") arg4 as i64,
            options(nostack)
        );
    }
    riverrun_result_a0 as i8
}

/// `narrowed`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_narrowed(arg0: f64) -> f32 {
    let riverrun_result_fa0: f64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            inlateout("fa0") arg0 => riverrun_result_fa0,
            in("a7") 0x28d496f7_u32 as i32 as i64,
            options(nostack)
        );
    }
    let riverrun_result_fa0 = f32::from_bits(riverrun_result_fa0.to_bits() as u32);
    riverrun_result_fa0
}

/// `narrowed`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_narrowed(arg0: f64) -> f32 {
    let riverrun_result_fa0: f64;
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_narrowed",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_narrowed, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_narrowed",
            ".hidden riverrun_import_sys_narrowed",
            "riverrun_import_sys_narrowed:",
            ".word 53, 0x28d496f7",
            ".dword .Limport_name_sys_narrowed, .Limport_signature_sys_narrowed",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_narrowed, comdat",
            ".Limport_name_sys_narrowed: .asciz \"narrowed\"",
            ".Limport_signature_sys_narrowed: .asciz \"f32 (f64)\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_narrowed",
            ".insn u 0x0b, x0, 53",
            inlateout("fa0") arg0 => riverrun_result_fa0,
            options(nostack)
        );
    }
    let riverrun_result_fa0 = f32::from_bits(riverrun_result_fa0.to_bits() as u32);
    riverrun_result_fa0
}

/// `odd {name} 100%|$x`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_odd() {
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            in("a7") 0x6b28c789_u32 as i32 as i64,
            options(nostack)
        );
    }
}

/// `odd {name} 100%|$x`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_odd() {
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_odd",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_odd, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_odd",
            ".hidden riverrun_import_sys_odd",
            "riverrun_import_sys_odd:",
            ".word 54, 0x6b28c789",
            ".dword .Limport_name_sys_odd, .Limport_signature_sys_odd",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_odd, comdat",
            ".Limport_name_sys_odd: .asciz \"odd \\173name\\175 100\\045\\174\\044x\"",
            ".Limport_signature_sys_odd: .asciz \"void ()\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_odd",
            ".insn u 0x0b, x0, 54",
            options(nostack)
        );
    }
}

/// `empty`, called by its hash.
///
/// # Safety
/// Pointers lead to what the host expects.
#[inline(always)]
pub unsafe fn isys_empty() {
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            "ecall",
            in("a7") 0x68c73dc4_u32 as i32 as i64,
            options(nostack)
        );
    }
}

/// `empty`, called directly.
///
/// # Safety
/// Pointers lead to what the host expects.
#[allow(named_asm_labels)]
#[inline(always)]
pub unsafe fn dsys_empty() {
    // SAFETY: the call follows the calling convention; what it does to memory is as its caller promises.
    unsafe {
        core::arch::asm!(
            ".ifndef riverrun_import_sys_empty",
            ".pushsection .riverrun.imports, \"awG\", @progbits, riverrun_import_sys_empty, comdat",
            ".balign 8",
            ".weak riverrun_import_sys_empty",
            ".hidden riverrun_import_sys_empty",
            "riverrun_import_sys_empty:",
            ".word 55, 0x68c73dc4",
            ".dword .Limport_name_sys_empty, .Limport_signature_sys_empty",
            ".popsection",
            ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_sys_empty, comdat",
            ".Limport_name_sys_empty: .asciz \"empty\"",
            ".Limport_signature_sys_empty: .asciz \"void ()\"",
            ".popsection",
            ".endif",
            ".reloc ., R_RISCV_NONE, riverrun_import_sys_empty",
            ".insn u 0x0b, x0, 55",
            options(nostack)
        );
    }
}

