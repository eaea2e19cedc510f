# A loop with a switch, a0 times: adds 1 to 4 in turns. By the table `other`, it always adds 16.
.globl _start
.type _start, @function
_start:
    lla s0, table
    li s1, 4
    mv s2, a0
    li a0, 0
next:
    andi a1, s2, 3
    bgeu a1, s1, behind
    slli a1, a1, 2
    add a2, a1, s0
    lw a2, 0(a2)
    add a2, a2, s0
    jr a2
one:
    addi a0, a0, 1
    j behind
two:
    addi a0, a0, 2
    j behind
three:
    addi a0, a0, 3
    j behind
four:
    addi a0, a0, 4
    j behind
sixteen:
    addi a0, a0, 16
behind:
    addi s2, s2, -1
    bnez s2, next
    li a7, 93
    ecall
.size _start, .-_start

.section .rodata
.balign 4
table: .word one - table, two - table, three - table, four - table
.globl other
other: .word sixteen - other, sixteen - other, sixteen - other, sixteen - other
