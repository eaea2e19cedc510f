# A jump by a table that the program rewrites, and by words behind it.
        .macro  round index
        li      a0, \index
        call    choose
        slli    t0, s0, 1
        add     s0, s0, t0
        add     s0, s0, a0
        .endm

        .globl  _start
        .type   _start, @function
_start: round   0               # 0
        lla     s1, table
        ld      t0, 0(s1)
        ld      t1, 8(s1)
        sd      t1, 0(s1)
        sd      t0, 8(s1)
        round   0               # 1
        round   1               # 0
        lla     t0, hidden
        sd      t0, 0(s1)
        round   0               # 2
        round   3               # 1
        mv      a0, s0
        li      a7, 93
        ecall
        .size   _start, . - _start

        .type   choose, @function
choose: slli    a0, a0, 3
        lla     t1, table
        add     a0, a0, t1
        ld      a0, 0(a0)
        jr      a0
1:      li      a0, 0
        ret
2:      li      a0, 1
        ret
hidden: li      a0, 2
        ret
        .size   choose, . - choose

        .data
table:  .quad   1b, 2b, 0
        .quad   2b + 1
