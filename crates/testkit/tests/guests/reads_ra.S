# A callee that takes where it is called from out of ra: a table follows each call, by register and direct.
        .globl  _start
        .type   _start, @function
_start: la      t0, second
        li      a0, 0
        .balign 4
        jalr    t0
        .word   5
        call    third
        .balign 4
        .word   6
        li      a7, 93
        ecall
        .size   _start, . - _start

        .type   second, @function
second: lw      t1, 0(ra)
        add     a0, a0, t1
        addi    ra, ra, 4
        ret
        .size   second, . - second

        .type   third, @function
third:  addi    ra, ra, 3
        andi    ra, ra, -4
        lw      t1, 0(ra)
        slli    t1, t1, 3
        add     a0, a0, t1
        addi    ra, ra, 4
        ret
        .size   third, . - third
