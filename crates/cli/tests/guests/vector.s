# Uses an extension that riverrun does not have.

.globl _start
.type _start,@function
_start:
    vsetvli t0, a0, e8, m1, ta, ma
    li a7, 93
    ecall
.size _start,.-_start
