# Records as the guest's headers write them. Macros given on the command line damage them.
#ifndef INDEX
#define INDEX 7
#endif
#ifndef HASH
#define HASH 0x68c73dc4
#endif
#ifndef SIGNATURE
#define SIGNATURE "i32 (f32, ptr)"
#endif
#ifndef UPDATE
#define UPDATE update
#endif
    .globl _start
    .text
_start:
    .insn u 0x0b, x0, 7
    ret
update:
    ret

    .section .rodata, "a"
empty: .asciz "empty"
other: .asciz "Game::exit"
name:  .asciz "update"
types: .asciz SIGNATURE
none:  .asciz "void ()"

    .section .riverrun.imports, "a"
    .word 7, 0x68c73dc4
    .dword empty, types
    .word INDEX, HASH
    .dword empty, types
    .word 2, 0xbda9e89e
    .dword other, 0
#ifdef CUT
    .word 0
#endif

    .section .riverrun.exports, "a"
    .dword UPDATE, name, none
    .dword update, name, none
