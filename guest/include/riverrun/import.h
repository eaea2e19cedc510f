#pragma once

#if !defined(__riscv) || __riscv_xlen != 64
#error "these are calls of a riverrun guest: compile for riscv64"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef RIVERRUN_INLINE
#define RIVERRUN_INLINE static inline __attribute__((always_inline, unused))

/* `inline`: records of imports make the text long, but what it becomes is one instruction. */
#define RIVERRUN_ASM __asm__ __volatile__ __inline__

/* Position-independent programs write the addresses in the records when they start. */
#ifdef __PIC__
#define RIVERRUN_RECORD_FLAGS "awG"
#else
#define RIVERRUN_RECORD_FLAGS "aG"
#endif

/* One record for all uses, in a group that linkers keep one of, and only if code is kept that refers to it
   (the relocation, which changes nothing). Then the instruction, opcode custom-0. */
#define RIVERRUN_IMPORT(index, hash, symbol, name, signature)                                           \
    ".ifndef riverrun_import_" symbol "\n"                                                              \
    ".pushsection .riverrun.imports, \"" RIVERRUN_RECORD_FLAGS "\", @progbits, riverrun_import_" symbol \
    ", comdat\n"                                                                                        \
    ".balign 8\n"                                                                                       \
    ".weak riverrun_import_" symbol "\n"                                                                \
    ".hidden riverrun_import_" symbol "\n"                                                              \
    "riverrun_import_" symbol ":\n"                                                                     \
    ".word " index ", " hash "\n"                                                                       \
    ".dword .Limport_name_" symbol ", .Limport_signature_" symbol "\n"                                  \
    ".popsection\n"                                                                                     \
    ".pushsection .rodata.riverrun_import, \"aG\", @progbits, riverrun_import_" symbol ", comdat\n"     \
    ".Limport_name_" symbol ": .asciz \"" name "\"\n"                                                   \
    ".Limport_signature_" symbol ": .asciz \"" signature "\"\n"                                         \
    ".popsection\n"                                                                                     \
    ".endif\n"                                                                                          \
    ".reloc ., R_RISCV_NONE, riverrun_import_" symbol "\n"                                              \
    ".insn u 0x0b, x0, " index
#endif

