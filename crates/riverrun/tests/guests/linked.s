# Calls through two of three entries of a procedure linkage table, for long enough to have samples.

    .globl  _start
_start:
    li      s0, 2000000
1:  call    first
    call    third
    addi    s0, s0, -1
    bnez    s0, 1b
    ecall

first:  la      t3, landing
    jalr    t1, t3
    nop
second: la      t3, landing
    jalr    t1, t3
    nop
third:  la      t3, landing
    jalr    t1, t3
    nop

landing:
    ret
