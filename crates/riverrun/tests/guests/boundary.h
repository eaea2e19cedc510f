// Records and stubs, as the generator writes them.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A host function by number, called directly: `name` has the number `index`, and `hash`.
#define IMPORT(index, hash, name, symbol, signature, declaration)                                                     \
    declaration;                                                                                                       \
    __asm__(".pushsection .text\n.globl " #symbol "\n.type " #symbol ", @function\n" #symbol ":\n"                   \
            ".insn u 0x0b, x0, " #index "\nret\n.size " #symbol ", .-" #symbol "\n.popsection\n"                       \
            ".pushsection .rodata\n.Lname" #symbol ": .asciz \"" name "\"\n"                                         \
            ".Lsignature" #symbol ": .asciz \"" signature "\"\n.popsection\n"                                        \
            ".pushsection .riverrun.imports, \"a\"\n.balign 8\n.word " #index ", " #hash "\n"                         \
            ".dword .Lname" #symbol ", .Lsignature" #symbol "\n.popsection\n")

// A function that the host may call.
#define EXPORT(function, signature)                                                                                    \
    __asm__(".pushsection .rodata\n.Lexport" #function ": .asciz \"" #function "\"\n"                                \
            ".Ltypes" #function ": .asciz \"" signature "\"\n.popsection\n"                                          \
            ".pushsection .riverrun.exports, \"a\"\n.balign 8\n"                                                       \
            ".dword " #function ", .Lexport" #function ", .Ltypes" #function "\n.popsection\n")
