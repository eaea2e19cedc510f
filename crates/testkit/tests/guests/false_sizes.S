# Symbols that lie about where functions begin and end: too small, too large, over others, in their middle.
        .option norelax
        .globl _start
        .type _start, @function
_start: li a0, 3
        li s1, 40
        call f
        call g
        add a0, a0, s1
        li a7, 93
        ecall
        .size _start, 4

        .globl f
        .type f, @function
f:      addi sp, sp, -16
        sd ra, 8(sp)
        sd s1, 0(sp)
        mv s1, a0
        beqz a0, 1f
        addi a0, a0, 1
        call h
        add a0, a0, s1
1:      ld ra, 8(sp)
        ld s1, 0(sp)
        addi sp, sp, 16
        ret
        .size f, 8

        .globl g
        .type g, @function
g:      addi a0, a0, 2
        li a5, 1
        andi a4, a0, 3
        la t0, table
        slli a4, a4, 2
        add t0, t0, a4
        lw t0, 0(t0)
        jr t0
0:      add a0, a0, a5
1:      addi a0, a0, 4
2:      add a0, a0, a5
3:      ret
        .size g, 100000

        .globl h
        .type h, @function
h:      addi a0, a0, 7
        ret
        .size h, 0

        .globl middle_of_f, middle_of_g
        .type middle_of_f, @function
        .set middle_of_f, f + 12
        .size middle_of_f, 400
        .type middle_of_g, @function
        .set middle_of_g, g + 8
        .size middle_of_g, 2

        .section .rodata
        .balign 8
table:  .word 0b, 1b, 2b, 3b
