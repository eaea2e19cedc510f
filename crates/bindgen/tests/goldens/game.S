/* Made by `riverrun bindgen` from game.json: change that instead. */

#ifdef __PIC__
#define RECORD_FLAGS "awG"
#else
#define RECORD_FLAGS "aG"
#endif

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
.section .riverrun.imports, RECORD_FLAGS, @progbits, riverrun_import_sys_stack, comdat
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
.section .riverrun.imports, RECORD_FLAGS, @progbits, riverrun_import_sys_eight, comdat
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

.section .note.GNU-stack, "", @progbits
