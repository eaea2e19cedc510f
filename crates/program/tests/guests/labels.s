    .globl _start
_start:
    nop
    addi a0, a0, 100
    nop
inner:
    nop
    addi a0, a0, 200
    nop
    .type outer, @function
outer:
    addi a0, a0, 300
nested:
    addi a0, a0, 400
    addi a0, a0, 500
    .size outer, . - outer
