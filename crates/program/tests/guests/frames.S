// Functions whose frames are known: tests/unwind.rs lays out their stacks by hand.
#ifdef DEBUG_FRAME
    .cfi_sections .debug_frame
#endif

    .globl _start
    .type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined ra
    call outer
_start_return:
    ecall
    .cfi_endproc
    .size _start, . - _start

// 32 bytes; ra at sp+24, s1 at sp+16.
    .type outer, @function
outer:
    .cfi_startproc
    addi sp, sp, -32
    .cfi_def_cfa_offset 32
    sd ra, 24(sp)
    sd s1, 16(sp)
    .cfi_offset ra, -8
    .cfi_offset s1, -16
    mv s1, sp
    call variable
outer_return:
    ld ra, 24(sp)
    ld s1, 16(sp)
    addi sp, sp, 32
    .cfi_def_cfa_offset 0
    .cfi_restore ra
    .cfi_restore s1
outer_epilogue:
    ret
    .cfi_endproc
    .size outer, . - outer

// A frame of unknown size, found by s0.
    .type variable, @function
variable:
    .cfi_startproc
    addi sp, sp, -16
    .cfi_def_cfa_offset 16
    sd ra, 8(sp)
    sd s0, 0(sp)
    .cfi_offset ra, -8
    .cfi_offset s0, -16
    addi s0, sp, 16
    .cfi_def_cfa s0, 0
    sub sp, sp, a0
    call expression
variable_return:
    addi sp, s0, -16
    .cfi_def_cfa sp, 16
    ld ra, 8(sp)
    ld s0, 0(sp)
    addi sp, sp, 16
    ret
    .cfi_endproc
    .size variable, . - variable

// CFA by a DWARF expression: the eight bytes at sp+0 (DW_OP_breg2 0, DW_OP_deref).
    .type expression, @function
expression:
    .cfi_startproc
    .cfi_escape 0x0f, 3, 0x72, 0, 0x06
    .cfi_offset ra, -24
    call leaf
expression_return:
    ret
    .cfi_endproc
    .size expression, . - expression

    .type leaf, @function
leaf:
    .cfi_startproc
    nop
    ret
    .cfi_endproc
    .size leaf, . - leaf

// Its frame is on another stack, and the caller is where the signal struck.
    .type trampoline, @function
trampoline:
    .cfi_startproc
    .cfi_signal_frame
    .cfi_def_cfa sp, 64
    .cfi_return_column 64
    .cfi_offset 64, -8
    .cfi_offset sp, -16
    .cfi_offset ra, -24
    nop
trampoline_return:
    nop
    .cfi_endproc
    .size trampoline, . - trampoline

// Its tables never end: the CFA is a loop (DW_OP_skip -3).
    .type endless, @function
endless:
    .cfi_startproc
    .cfi_escape 0x0f, 3, 0x2f, 0xfd, 0xff
    nop
    ret
    .cfi_endproc
    .size endless, . - endless

// No tables; a frame pointer.
    .type untold, @function
untold:
    addi sp, sp, -16
    sd ra, 8(sp)
    sd s0, 0(sp)
    addi s0, sp, 16
    call untold
untold_return:
    ret
    .size untold, . - untold

// No tables; a frame of more than an immediate can hold.
    .type large, @function
large:
    addi sp, sp, -2032
    sd ra, 2024(sp)
    li t0, -4096
    add sp, sp, t0
    li t0, -(100 * 4096 + 16)
    add sp, sp, t0
    beqz a0, large_call
    li t0, 104 * 1024
    add sp, sp, t0
    ld ra, 2024(sp)
    addi sp, sp, 2032
    ret
large_call:
    call leaf
large_return:
    ret
    .size large, . - large
