# Unwind tables and records of exports that lie about where functions begin: in the middle of functions, and over several.
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
        .size _start, .-_start

        .globl f
        .type f, @function
f:      addi sp, sp, -16
        sd ra, 8(sp)
        sd s1, 0(sp)
        mv s1, a0
        .cfi_startproc
        beqz a0, 1f
        addi a0, a0, 1
        call h
        add a0, a0, s1
1:      ld ra, 8(sp)
        ld s1, 0(sp)
        addi sp, sp, 16
        ret
        .size f, .-f

        .globl g
        .type g, @function
g:      addi a0, a0, 2
        li a5, 1
        andi a4, a0, 3
        .cfi_endproc
        la t0, table
        slli a4, a4, 2
        add t0, t0, a4
        lw t0, 0(t0)
        jr t0
0:      add a0, a0, a5
1:      addi a0, a0, 4
        .cfi_startproc
2:      add a0, a0, a5
3:      ret
        .size g, .-g

        .globl h
        .type h, @function
h:      addi a0, a0, 7
        .cfi_endproc
end_of_h: ret
        .size h, .-h

        .section .rodata
        .balign 8
table:  .word 0b, 1b, 2b, 3b

        .section .riverrun.exports, "a"
        .quad end_of_h, name, 0
        .quad f + 12, other_name, 0

        .section .rodata
name:   .asciz "end_of_h"
other_name:
        .asciz "middle_of_f"
