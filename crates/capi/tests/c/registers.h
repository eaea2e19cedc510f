/* Calls between which the registers are compared that a function has to preserve. */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

/* Calls a function with these six arguments, which its results replace: whether the registers are as they were. */
bool preserves(void (*function)(void), uint64_t arguments[6]);

#ifndef __x86_64__
#error "written for x86-64"
#endif
__asm__(".text\n"
        ".type preserves, @function\n"
        "preserves:\n\t"
        "push %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\tpush %rsi\n\t"
        "mov $0x1234501, %ebp\n\tmov $0x1234502, %ebx\n\tmov $0x1234503, %r12d\n\t"
        "mov $0x1234504, %r13d\n\tmov $0x1234505, %r14d\n\tmov $0x1234506, %r15d\n\t"
        "mov %rdi, %rax\n\tmov %rsi, %r10\n\t"
        "mov (%r10), %rdi\n\tmov 8(%r10), %rsi\n\tmov 16(%r10), %rdx\n\t"
        "mov 24(%r10), %rcx\n\tmov 32(%r10), %r8\n\tmov 40(%r10), %r9\n\t"
        "call *%rax\n\t"
        "pop %rsi\n\tmov %rax, (%rsi)\n\tmov %rdx, 8(%rsi)\n\t"
        "xor %eax, %eax\n\t"
        "cmp $0x1234501, %rbp\n\tjne 1f\n\tcmp $0x1234502, %rbx\n\tjne 1f\n\tcmp $0x1234503, %r12\n\tjne 1f\n\t"
        "cmp $0x1234504, %r13\n\tjne 1f\n\tcmp $0x1234505, %r14\n\tjne 1f\n\tcmp $0x1234506, %r15\n\tjne 1f\n\t"
        "mov $1, %eax\n"
        "1:\n\t"
        "pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret\n"
        ".size preserves, . - preserves\n");

#endif
