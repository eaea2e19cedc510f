# Functions whose names are those that the compiler gives to parts and entry points of `twice`; all are exported.
.macro export name, symbol
.pushsection .rodata
.Lname\@: .asciz "\name"
.popsection
.pushsection .riverrun.exports, "a"
.balign 8
.dword "\symbol", .Lname\@, types
.popsection
.endm

.text
.globl _start
_start:
    ebreak

.globl twice
.type twice, @function
twice:
    slli a0, a0, 1
    ret
.size twice, . - twice

.globl "twice#host"
.type "twice#host", @function
"twice#host":
    addi a0, a0, 100
    ret
.size "twice#host", . - "twice#host"

# One that calls both.
.globl "guest::twice#host"
.type "guest::twice#host", @function
"guest::twice#host":
    addi sp, sp, -16
    sd ra, 8(sp)
    call "twice#host"
    call twice
    ld ra, 8(sp)
    addi sp, sp, 16
    ret
.size "guest::twice#host", . - "guest::twice#host"

export twice, twice
export hundred, "twice#host"
export both, "guest::twice#host"

.section .rodata
types: .asciz "u64 (u64)"
