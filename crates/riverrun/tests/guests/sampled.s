# A loop that calls a short function from a block with a long end, which is never executed.
    .globl _start
_start:
    li s0, 900000
1:  call short
    addi s0, s0, -1
    bnez s0, 1b
    .rept 4000
    addi t0, t0, 1
    .endr
    li a7, 93
    ecall

    .globl short
short:
    .rept 20
    addi t0, t0, 1
    .endr
    ret
    .globl short_end
short_end:
