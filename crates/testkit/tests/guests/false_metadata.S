# What a program says of its functions is false: with FALSE_SIZES its symbols (too small, too large, over others, in their
# middle), else its unwind tables and its records of exports (in the middle of functions, and over several).
#ifdef FALSE_SIZES
#define SIZE(function, wrong) .size function, wrong
#define BEGIN
#define END
#else
#define SIZE(function, wrong) .size function, .-function
#define BEGIN .cfi_startproc
#define END .cfi_endproc
#endif
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
        SIZE(_start, 4)

        .globl f
        .type f, @function
f:      addi sp, sp, -16
        sd ra, 8(sp)
        sd s1, 0(sp)
        mv s1, a0
        BEGIN
        beqz a0, 1f
        addi a0, a0, 1
        call h
        add a0, a0, s1
1:      ld ra, 8(sp)
        ld s1, 0(sp)
        addi sp, sp, 16
        ret
        SIZE(f, 8)

        .globl g
        .type g, @function
g:      addi a0, a0, 2
        li a5, 1
        andi a4, a0, 3
        END
        la t0, table
        slli a4, a4, 2
        add t0, t0, a4
        lw t0, 0(t0)
        jr t0
0:      add a0, a0, a5
1:      addi a0, a0, 4
        BEGIN
2:      add a0, a0, a5
3:      ret
        SIZE(g, 100000)

        .globl h
        .type h, @function
h:      addi a0, a0, 7
        END
end_of_h: ret
        SIZE(h, 0)

#ifdef FALSE_SIZES
        .globl middle_of_f, middle_of_g
        .type middle_of_f, @function
        .set middle_of_f, f + 12
        .size middle_of_f, 400
        .type middle_of_g, @function
        .set middle_of_g, g + 8
        .size middle_of_g, 2
#endif

        .section .rodata
        .balign 8
table:  .word 0b, 1b, 2b, 3b

#ifndef FALSE_SIZES
        .section .riverrun.exports, "a"
        .quad end_of_h, name, 0
        .quad f + 12, other_name, 0

        .section .rodata
name:   .asciz "end_of_h"
other_name:
        .asciz "middle_of_f"
#endif
