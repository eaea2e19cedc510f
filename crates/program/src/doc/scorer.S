# int32_t play(int32_t points), exported: adds the points to the score, by two host functions.
    .text
    .globl _start
_start:
play:
    li a1, 0
    .insn u 0x0b, x0, 0             # Game::add(points, 0)
    .insn u 0x0b, x0, 1             # Game::score(points)
    ret

    .section .rodata, "a"
play_name:
    .asciz "play"
play_signature:
    .asciz "i32 (i32)"
add_name:
    .asciz "Game::add"
add_signature:
    .asciz "i32 (i32, i32)"
score_name:
    .asciz "Game::score"
score_signature:
    .asciz "i32 (i32)"

    .section .riverrun.exports, "a"
    .balign 8
    .dword play, play_name, play_signature

    .section .riverrun.imports, "a"
    .balign 8
    .word 0, 0x84bf7b9e
    .dword add_name, add_signature
    .word 1, 0xc2bf0479
    .dword score_name, score_signature
