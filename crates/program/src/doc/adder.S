# int32_t add(int32_t, int32_t), exported.
    .text
    .globl _start
_start:
add:
    addw a0, a0, a1
    ret

    .section .rodata, "a"
name:
    .asciz "add"
signature:
    .asciz "i32 (i32, i32)"

    .section .riverrun.exports, "a"
    .balign 8
    .dword add, name, signature
