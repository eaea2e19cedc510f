/* The first instructions of a guest without a libc. The host has set sp. Then the guest's functions can be
   called: what constructors and main have made stays. */
    .section .text.start, "ax", @progbits
    .globl _start
    .type _start, @function
_start:
    .option push
    .option norelax
    lla gp, __global_pointer$
    .option pop
    li fp, 0
    /* Constructors. */
    lla s1, __init_array_start
    lla s2, __init_array_end
1:  beq s1, s2, 2f
    ld t0, 0(s1)
    addi s1, s1, 8
    jalr t0
    j 1b
    /* int main(int, char **), if there is one. */
2:  .weakref guest_main, main
    lui t0, %hi(guest_main)
    addi t0, t0, %lo(guest_main)
    li a0, 0
    li a1, 0
    beqz t0, 3f
    jalr t0
    /* Linux's exit. */
3:  li a7, 93
    ecall
    unimp
    .size _start, . - _start
    .section .note.GNU-stack, "", @progbits
