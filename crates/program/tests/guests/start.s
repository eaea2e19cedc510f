# A program without a C library: exits with status 42.
    .globl _start
    .type _start, @function
_start:
    lla a1, answer
    lw a0, 0(a1)
    li a7, 93
    ecall
    .size _start, . - _start

    .data
    .globl answer
    .type answer, @object
answer:
    .word 42
    .size answer, 4
