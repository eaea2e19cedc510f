/* Made by `riverrun bindgen` from game.json: change that instead. */

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

typedef void (*timer_callback) (int, void*);
typedef struct { int a, b, c; float x, y, z; } TestData;
typedef struct { float x, y; } Point;
typedef struct { int8_t kind; int64_t id; } Handle;
typedef struct { double weight; short count; } Mixed;
typedef enum { SMALL, LARGE } Size;
struct node { struct node *next; float at[3]; };
typedef struct Texture Texture;

#ifdef __cplusplus
extern "C" {
#endif

/* Game::set_title, hash 0x820f292d; while initializing only */
void sys_set_title(const char *title);
RIVERRUN_INLINE void isys_set_title(const char *title)
{
    register const void *riverrun_a0 __asm__("a0") = title;
    register long riverrun_a7 __asm__("a7") = -2112935635;
    RIVERRUN_ASM("ecall"
        : : "r"(riverrun_a0), "r"(riverrun_a7) : "memory");
}
RIVERRUN_INLINE void dsys_set_title(const char *title)
{
    register const void *riverrun_a0 __asm__("a0") = title;
    RIVERRUN_ASM(RIVERRUN_IMPORT("32", "0x820f292d", "sys_set_title",
        "Game::set_title", "void (ptr)")
        : : "r"(riverrun_a0) : "memory");
}

/* Game::exit, hash 0xbda9e89e */
void sys_game_exit(void);
RIVERRUN_INLINE void isys_game_exit(void)
{
    register long riverrun_a7 __asm__("a7") = -1112938338;
    RIVERRUN_ASM("ecall"
        : : "r"(riverrun_a7) : "memory");
}
RIVERRUN_INLINE void dsys_game_exit(void)
{
    RIVERRUN_ASM(RIVERRUN_IMPORT("33", "0xbda9e89e", "sys_game_exit",
        "Game::exit", "void ()")
        : : : "memory");
}

/* Timer::stop, hash 0x16a07498 */
void sys_timer_stop(int arg0);
RIVERRUN_INLINE void isys_timer_stop(int arg0)
{
    register long riverrun_a0 __asm__("a0") = (long)arg0;
    register long riverrun_a7 __asm__("a7") = 379614360;
    RIVERRUN_ASM("ecall"
        : : "r"(riverrun_a0), "r"(riverrun_a7) : "memory");
}
RIVERRUN_INLINE void dsys_timer_stop(int arg0)
{
    register long riverrun_a0 __asm__("a0") = (long)arg0;
    RIVERRUN_ASM(RIVERRUN_IMPORT("34", "0x16a07498", "sys_timer_stop",
        "Timer::stop", "void (i32)")
        : : "r"(riverrun_a0) : "memory");
}

/* Timer::periodic, hash 0x811acfe9 */
int sys_timer_periodic(float arg0, float arg1, timer_callback arg2, void *arg3, size_t arg4);
RIVERRUN_INLINE int isys_timer_periodic(float arg0, float arg1, timer_callback arg2, void *arg3, size_t arg4)
{
    register float riverrun_fa0 __asm__("fa0") = arg0;
    register float riverrun_fa1 __asm__("fa1") = arg1;
    register long riverrun_a0 __asm__("a0") = (long)arg2;
    register const void *riverrun_a1 __asm__("a1") = arg3;
    register long riverrun_a2 __asm__("a2") = (long)arg4;
    register long riverrun_a7 __asm__("a7") = -2128949271;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM("ecall"
        : "=r"(riverrun_result_a0) : "f"(riverrun_fa0), "f"(riverrun_fa1), "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a2), "r"(riverrun_a7) : "memory");
    return (int)riverrun_result_a0;
}
RIVERRUN_INLINE int dsys_timer_periodic(float arg0, float arg1, timer_callback arg2, void *arg3, size_t arg4)
{
    register float riverrun_fa0 __asm__("fa0") = arg0;
    register float riverrun_fa1 __asm__("fa1") = arg1;
    register long riverrun_a0 __asm__("a0") = (long)arg2;
    register const void *riverrun_a1 __asm__("a1") = arg3;
    register long riverrun_a2 __asm__("a2") = (long)arg4;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("35", "0x811acfe9", "sys_timer_periodic",
        "Timer::periodic", "i32 (f32, f32, ptr, ptr, u64)")
        : "=r"(riverrun_result_a0) : "f"(riverrun_fa0), "f"(riverrun_fa1), "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a2) : "memory");
    return (int)riverrun_result_a0;
}

/* Debug::breakpoint, hash 0xcaaff686 */
void sys_breakpoint(uint16_t arg0, const char *arg1);
RIVERRUN_INLINE void isys_breakpoint(uint16_t arg0, const char *arg1)
{
    register long riverrun_a0 __asm__("a0") = (long)arg0;
    register const void *riverrun_a1 __asm__("a1") = arg1;
    register long riverrun_a7 __asm__("a7") = -894437754;
    RIVERRUN_ASM("ecall"
        : : "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a7) : "memory");
}
RIVERRUN_INLINE void dsys_breakpoint(uint16_t arg0, const char *arg1)
{
    register long riverrun_a0 __asm__("a0") = (long)arg0;
    register const void *riverrun_a1 __asm__("a1") = arg1;
    RIVERRUN_ASM(RIVERRUN_IMPORT("36", "0xcaaff686", "sys_breakpoint",
        "Debug::breakpoint", "void (u16, ptr)")
        : : "r"(riverrun_a0), "r"(riverrun_a1) : "memory");
}

/* Debug::is_debug, hash 0xb536c5f4 */
int sys_is_debug(void);
RIVERRUN_INLINE int isys_is_debug(void)
{
    register long riverrun_a7 __asm__("a7") = -1254701580;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM("ecall"
        : "=r"(riverrun_result_a0) : "r"(riverrun_a7) : "memory");
    return (int)riverrun_result_a0;
}
RIVERRUN_INLINE int dsys_is_debug(void)
{
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("37", "0xb536c5f4", "sys_is_debug",
        "Debug::is_debug", "i32 ()")
        : "=r"(riverrun_result_a0) : : "memory");
    return (int)riverrun_result_a0;
}

/* GUI::label, hash 0xf08cd072 */
unsigned sys_gui_label(unsigned arg0, const char *arg1);
RIVERRUN_INLINE unsigned isys_gui_label(unsigned arg0, const char *arg1)
{
    register long riverrun_a0 __asm__("a0") = (int)arg0;
    register const void *riverrun_a1 __asm__("a1") = arg1;
    register long riverrun_a7 __asm__("a7") = -259207054;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM("ecall"
        : "=r"(riverrun_result_a0) : "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a7) : "memory");
    return (unsigned)riverrun_result_a0;
}
RIVERRUN_INLINE unsigned dsys_gui_label(unsigned arg0, const char *arg1)
{
    register long riverrun_a0 __asm__("a0") = (int)arg0;
    register const void *riverrun_a1 __asm__("a1") = arg1;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("38", "0xf08cd072", "sys_gui_label",
        "GUI::label", "u32 (u32, ptr)")
        : "=r"(riverrun_result_a0) : "r"(riverrun_a0), "r"(riverrun_a1) : "memory");
    return (unsigned)riverrun_result_a0;
}

/* World::save, hash 0x065471c9 */
bool sys_world_save(Size class_, const TestData *arg1);
RIVERRUN_INLINE bool isys_world_save(Size class_, const TestData *arg1)
{
    register long riverrun_a0 __asm__("a0") = (int)class_;
    register const void *riverrun_a1 __asm__("a1") = arg1;
    register long riverrun_a7 __asm__("a7") = 106197449;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM("ecall"
        : "=r"(riverrun_result_a0) : "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a7) : "memory");
    return (bool)riverrun_result_a0;
}
RIVERRUN_INLINE bool dsys_world_save(Size class_, const TestData *arg1)
{
    register long riverrun_a0 __asm__("a0") = (int)class_;
    register const void *riverrun_a1 __asm__("a1") = arg1;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("39", "0x065471c9", "sys_world_save",
        "World::save", "bool (u32, ptr)")
        : "=r"(riverrun_result_a0) : "r"(riverrun_a0), "r"(riverrun_a1) : "memory");
    return (bool)riverrun_result_a0;
}

/* World::texture, hash 0x40557f9a */
Texture *sys_texture(struct node *arg0, void (*done)(Texture *, int));
RIVERRUN_INLINE Texture *isys_texture(struct node *arg0, void (*done)(Texture *, int))
{
    register const void *riverrun_a0 __asm__("a0") = arg0;
    register long riverrun_a1 __asm__("a1") = (long)done;
    register long riverrun_a7 __asm__("a7") = 1079345050;
    register const void *riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM("ecall"
        : "=r"(riverrun_result_a0) : "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a7) : "memory");
    return (Texture *)riverrun_result_a0;
}
RIVERRUN_INLINE Texture *dsys_texture(struct node *arg0, void (*done)(Texture *, int))
{
    register const void *riverrun_a0 __asm__("a0") = arg0;
    register long riverrun_a1 __asm__("a1") = (long)done;
    register const void *riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("40", "0x40557f9a", "sys_texture",
        "World::texture", "ptr (ptr, ptr)")
        : "=r"(riverrun_result_a0) : "r"(riverrun_a0), "r"(riverrun_a1) : "memory");
    return (Texture *)riverrun_result_a0;
}

/* Point::length, hash 0xbd610695 */
float sys_point_length(Point arg0);
RIVERRUN_INLINE float isys_point_length(Point arg0)
{
    float riverrun_part_fa0 = 0;
    __builtin_memcpy(&riverrun_part_fa0, (const char *)&arg0 + 0, 4);
    float riverrun_part_fa1 = 0;
    __builtin_memcpy(&riverrun_part_fa1, (const char *)&arg0 + 4, 4);
    register float riverrun_fa0 __asm__("fa0") = riverrun_part_fa0;
    register float riverrun_fa1 __asm__("fa1") = riverrun_part_fa1;
    register long riverrun_a7 __asm__("a7") = -1117714795;
    register float riverrun_result_fa0 __asm__("fa0");
    RIVERRUN_ASM("ecall"
        : "=f"(riverrun_result_fa0) : "f"(riverrun_fa0), "f"(riverrun_fa1), "r"(riverrun_a7));
    return (float)riverrun_result_fa0;
}
RIVERRUN_INLINE float dsys_point_length(Point arg0)
{
    float riverrun_part_fa0 = 0;
    __builtin_memcpy(&riverrun_part_fa0, (const char *)&arg0 + 0, 4);
    float riverrun_part_fa1 = 0;
    __builtin_memcpy(&riverrun_part_fa1, (const char *)&arg0 + 4, 4);
    register float riverrun_fa0 __asm__("fa0") = riverrun_part_fa0;
    register float riverrun_fa1 __asm__("fa1") = riverrun_part_fa1;
    register float riverrun_result_fa0 __asm__("fa0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("41", "0xbd610695", "sys_point_length",
        "Point::length", "f32 (f32, f32)")
        : "=f"(riverrun_result_fa0) : "f"(riverrun_fa0), "f"(riverrun_fa1));
    return (float)riverrun_result_fa0;
}

/* Point::add, hash 0x2b8671a3 */
Point sys_point_add(Point arg0, Point arg1);
RIVERRUN_INLINE Point isys_point_add(Point arg0, Point arg1)
{
    float riverrun_part_fa0 = 0;
    __builtin_memcpy(&riverrun_part_fa0, (const char *)&arg0 + 0, 4);
    float riverrun_part_fa1 = 0;
    __builtin_memcpy(&riverrun_part_fa1, (const char *)&arg0 + 4, 4);
    float riverrun_part_fa2 = 0;
    __builtin_memcpy(&riverrun_part_fa2, (const char *)&arg1 + 0, 4);
    float riverrun_part_fa3 = 0;
    __builtin_memcpy(&riverrun_part_fa3, (const char *)&arg1 + 4, 4);
    register float riverrun_fa0 __asm__("fa0") = riverrun_part_fa0;
    register float riverrun_fa1 __asm__("fa1") = riverrun_part_fa1;
    register float riverrun_fa2 __asm__("fa2") = riverrun_part_fa2;
    register float riverrun_fa3 __asm__("fa3") = riverrun_part_fa3;
    register long riverrun_a7 __asm__("a7") = 730231203;
    register float riverrun_result_fa0 __asm__("fa0");
    register float riverrun_result_fa1 __asm__("fa1");
    RIVERRUN_ASM("ecall"
        : "=f"(riverrun_result_fa0), "=f"(riverrun_result_fa1) : "f"(riverrun_fa0), "f"(riverrun_fa1), "f"(riverrun_fa2), "f"(riverrun_fa3), "r"(riverrun_a7) : "memory");
    Point riverrun_result;
    float riverrun_of_fa0 = (float)riverrun_result_fa0;
    __builtin_memcpy((char *)&riverrun_result + 0, &riverrun_of_fa0, 4);
    float riverrun_of_fa1 = (float)riverrun_result_fa1;
    __builtin_memcpy((char *)&riverrun_result + 4, &riverrun_of_fa1, 4);
    return riverrun_result;
}
RIVERRUN_INLINE Point dsys_point_add(Point arg0, Point arg1)
{
    float riverrun_part_fa0 = 0;
    __builtin_memcpy(&riverrun_part_fa0, (const char *)&arg0 + 0, 4);
    float riverrun_part_fa1 = 0;
    __builtin_memcpy(&riverrun_part_fa1, (const char *)&arg0 + 4, 4);
    float riverrun_part_fa2 = 0;
    __builtin_memcpy(&riverrun_part_fa2, (const char *)&arg1 + 0, 4);
    float riverrun_part_fa3 = 0;
    __builtin_memcpy(&riverrun_part_fa3, (const char *)&arg1 + 4, 4);
    register float riverrun_fa0 __asm__("fa0") = riverrun_part_fa0;
    register float riverrun_fa1 __asm__("fa1") = riverrun_part_fa1;
    register float riverrun_fa2 __asm__("fa2") = riverrun_part_fa2;
    register float riverrun_fa3 __asm__("fa3") = riverrun_part_fa3;
    register float riverrun_result_fa0 __asm__("fa0");
    register float riverrun_result_fa1 __asm__("fa1");
    RIVERRUN_ASM(RIVERRUN_IMPORT("42", "0x2b8671a3", "sys_point_add",
        "Point::add", "\\173f32, f32\\175 (f32, f32, f32, f32)")
        : "=f"(riverrun_result_fa0), "=f"(riverrun_result_fa1) : "f"(riverrun_fa0), "f"(riverrun_fa1), "f"(riverrun_fa2), "f"(riverrun_fa3) : "memory");
    Point riverrun_result;
    float riverrun_of_fa0 = (float)riverrun_result_fa0;
    __builtin_memcpy((char *)&riverrun_result + 0, &riverrun_of_fa0, 4);
    float riverrun_of_fa1 = (float)riverrun_result_fa1;
    __builtin_memcpy((char *)&riverrun_result + 4, &riverrun_of_fa1, 4);
    return riverrun_result;
}

/* Handle::next, hash 0x27903788 */
Handle sys_handle_next(Handle arg0);
RIVERRUN_INLINE Handle isys_handle_next(Handle arg0)
{
    unsigned long riverrun_part_a0 = 0;
    __builtin_memcpy(&riverrun_part_a0, (const char *)&arg0 + 0, 8);
    unsigned long riverrun_part_a1 = 0;
    __builtin_memcpy(&riverrun_part_a1, (const char *)&arg0 + 8, 8);
    register long riverrun_a0 __asm__("a0") = (long)riverrun_part_a0;
    register long riverrun_a1 __asm__("a1") = (long)riverrun_part_a1;
    register long riverrun_a7 __asm__("a7") = 663762824;
    register long riverrun_result_a0 __asm__("a0");
    register long riverrun_result_a1 __asm__("a1");
    RIVERRUN_ASM("ecall"
        : "=r"(riverrun_result_a0), "=r"(riverrun_result_a1) : "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a7) : "memory");
    Handle riverrun_result;
    unsigned long riverrun_of_a0 = (unsigned long)riverrun_result_a0;
    __builtin_memcpy((char *)&riverrun_result + 0, &riverrun_of_a0, 8);
    unsigned long riverrun_of_a1 = (unsigned long)riverrun_result_a1;
    __builtin_memcpy((char *)&riverrun_result + 8, &riverrun_of_a1, 8);
    return riverrun_result;
}
RIVERRUN_INLINE Handle dsys_handle_next(Handle arg0)
{
    unsigned long riverrun_part_a0 = 0;
    __builtin_memcpy(&riverrun_part_a0, (const char *)&arg0 + 0, 8);
    unsigned long riverrun_part_a1 = 0;
    __builtin_memcpy(&riverrun_part_a1, (const char *)&arg0 + 8, 8);
    register long riverrun_a0 __asm__("a0") = (long)riverrun_part_a0;
    register long riverrun_a1 __asm__("a1") = (long)riverrun_part_a1;
    register long riverrun_result_a0 __asm__("a0");
    register long riverrun_result_a1 __asm__("a1");
    RIVERRUN_ASM(RIVERRUN_IMPORT("43", "0x27903788", "sys_handle_next",
        "Handle::next", "\\173u64, u64\\175 (u64, u64)")
        : "=r"(riverrun_result_a0), "=r"(riverrun_result_a1) : "r"(riverrun_a0), "r"(riverrun_a1) : "memory");
    Handle riverrun_result;
    unsigned long riverrun_of_a0 = (unsigned long)riverrun_result_a0;
    __builtin_memcpy((char *)&riverrun_result + 0, &riverrun_of_a0, 8);
    unsigned long riverrun_of_a1 = (unsigned long)riverrun_result_a1;
    __builtin_memcpy((char *)&riverrun_result + 8, &riverrun_of_a1, 8);
    return riverrun_result;
}

/* Mixed::scale, hash 0xdadd7b44 */
Mixed sys_mixed_scale(Mixed m, double by);
RIVERRUN_INLINE Mixed isys_mixed_scale(Mixed m, double by)
{
    double riverrun_part_fa0 = 0;
    __builtin_memcpy(&riverrun_part_fa0, (const char *)&m + 0, 8);
    short riverrun_part_a0 = 0;
    __builtin_memcpy(&riverrun_part_a0, (const char *)&m + 8, 2);
    register double riverrun_fa0 __asm__("fa0") = riverrun_part_fa0;
    register long riverrun_a0 __asm__("a0") = (long)riverrun_part_a0;
    register double riverrun_fa1 __asm__("fa1") = by;
    register long riverrun_a7 __asm__("a7") = -623019196;
    register double riverrun_result_fa0 __asm__("fa0");
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM("ecall"
        : "=f"(riverrun_result_fa0), "=r"(riverrun_result_a0) : "f"(riverrun_fa0), "r"(riverrun_a0), "f"(riverrun_fa1), "r"(riverrun_a7) : "memory");
    Mixed riverrun_result;
    double riverrun_of_fa0 = (double)riverrun_result_fa0;
    __builtin_memcpy((char *)&riverrun_result + 0, &riverrun_of_fa0, 8);
    short riverrun_of_a0 = (short)riverrun_result_a0;
    __builtin_memcpy((char *)&riverrun_result + 8, &riverrun_of_a0, 2);
    return riverrun_result;
}
RIVERRUN_INLINE Mixed dsys_mixed_scale(Mixed m, double by)
{
    double riverrun_part_fa0 = 0;
    __builtin_memcpy(&riverrun_part_fa0, (const char *)&m + 0, 8);
    short riverrun_part_a0 = 0;
    __builtin_memcpy(&riverrun_part_a0, (const char *)&m + 8, 2);
    register double riverrun_fa0 __asm__("fa0") = riverrun_part_fa0;
    register long riverrun_a0 __asm__("a0") = (long)riverrun_part_a0;
    register double riverrun_fa1 __asm__("fa1") = by;
    register double riverrun_result_fa0 __asm__("fa0");
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("44", "0xdadd7b44", "sys_mixed_scale",
        "Mixed::scale", "\\173f64, i16\\175 (f64, i16, f64)")
        : "=f"(riverrun_result_fa0), "=r"(riverrun_result_a0) : "f"(riverrun_fa0), "r"(riverrun_a0), "f"(riverrun_fa1) : "memory");
    Mixed riverrun_result;
    double riverrun_of_fa0 = (double)riverrun_result_fa0;
    __builtin_memcpy((char *)&riverrun_result + 0, &riverrun_of_fa0, 8);
    short riverrun_of_a0 = (short)riverrun_result_a0;
    __builtin_memcpy((char *)&riverrun_result + 8, &riverrun_of_a0, 2);
    return riverrun_result;
}

/* Matrix::multiply, hash 0x5861d7dc */
void sys_matrix_multiply(float (*m)[4], const float (*by)[4]);
RIVERRUN_INLINE void isys_matrix_multiply(float (*m)[4], const float (*by)[4])
{
    register const void *riverrun_a0 __asm__("a0") = m;
    register const void *riverrun_a1 __asm__("a1") = by;
    register long riverrun_a7 __asm__("a7") = 1482807260;
    RIVERRUN_ASM("ecall"
        : "+m"(*(float (*)[4][4])m) : "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a7), "m"(*(const float (*)[4][4])by));
}
RIVERRUN_INLINE void dsys_matrix_multiply(float (*m)[4], const float (*by)[4])
{
    register const void *riverrun_a0 __asm__("a0") = m;
    register const void *riverrun_a1 __asm__("a1") = by;
    RIVERRUN_ASM(RIVERRUN_IMPORT("45", "0x5861d7dc", "sys_matrix_multiply",
        "Matrix::multiply", "void (ptr, ptr)")
        : "+m"(*(float (*)[4][4])m) : "r"(riverrun_a0), "r"(riverrun_a1), "m"(*(const float (*)[4][4])by));
}

/* Matrix::is_identity, hash 0x5d3130b0 */
bool sys_matrix_is_identity(const float *m);
RIVERRUN_INLINE bool isys_matrix_is_identity(const float *m)
{
    register const void *riverrun_a0 __asm__("a0") = m;
    register long riverrun_a7 __asm__("a7") = 1563504816;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM("ecall"
        : "=r"(riverrun_result_a0) : "r"(riverrun_a0), "r"(riverrun_a7), "m"(*(const float (*)[16])m));
    return (bool)riverrun_result_a0;
}
RIVERRUN_INLINE bool dsys_matrix_is_identity(const float *m)
{
    register const void *riverrun_a0 __asm__("a0") = m;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("46", "0x5d3130b0", "sys_matrix_is_identity",
        "Matrix::is_identity", "bool (ptr)")
        : "=r"(riverrun_result_a0) : "r"(riverrun_a0), "m"(*(const float (*)[16])m));
    return (bool)riverrun_result_a0;
}

/* sum, hash 0xc8bd9f4d */
float sys_sum(const float *values, size_t count);
RIVERRUN_INLINE float isys_sum(const float *values, size_t count)
{
    register const void *riverrun_a0 __asm__("a0") = values;
    register long riverrun_a1 __asm__("a1") = (long)count;
    register long riverrun_a7 __asm__("a7") = -927097011;
    register float riverrun_result_fa0 __asm__("fa0");
    RIVERRUN_ASM("ecall"
        : "=f"(riverrun_result_fa0) : "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a7) : "memory");
    return (float)riverrun_result_fa0;
}
RIVERRUN_INLINE float dsys_sum(const float *values, size_t count)
{
    register const void *riverrun_a0 __asm__("a0") = values;
    register long riverrun_a1 __asm__("a1") = (long)count;
    register float riverrun_result_fa0 __asm__("fa0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("47", "0xc8bd9f4d", "sys_sum",
        "sum", "f32 (ptr, u64)")
        : "=f"(riverrun_result_fa0) : "r"(riverrun_a0), "r"(riverrun_a1) : "memory");
    return (float)riverrun_result_fa0;
}

/* many, hash 0x73bade64 */
int64_t sys_many(int arg0, int arg1, int arg2, int arg3, int arg4);
RIVERRUN_INLINE int64_t isys_many(int arg0, int arg1, int arg2, int arg3, int arg4)
{
    register long riverrun_a0 __asm__("a0") = (long)arg0;
    register long riverrun_a1 __asm__("a1") = (long)arg1;
    register long riverrun_a2 __asm__("a2") = (long)arg2;
    register long riverrun_a3 __asm__("a3") = (long)arg3;
    register long riverrun_a4 __asm__("a4") = (long)arg4;
    register long riverrun_a7 __asm__("a7") = 1941626468;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM("ecall"
        : "=r"(riverrun_result_a0) : "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a2), "r"(riverrun_a3), "r"(riverrun_a4), "r"(riverrun_a7) : "memory");
    return (int64_t)riverrun_result_a0;
}
RIVERRUN_INLINE int64_t dsys_many(int arg0, int arg1, int arg2, int arg3, int arg4)
{
    register long riverrun_a0 __asm__("a0") = (long)arg0;
    register long riverrun_a1 __asm__("a1") = (long)arg1;
    register long riverrun_a2 __asm__("a2") = (long)arg2;
    register long riverrun_a3 __asm__("a3") = (long)arg3;
    register long riverrun_a4 __asm__("a4") = (long)arg4;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("48", "0x73bade64", "sys_many",
        "many", "i64 (i32, i32, i32, i32, i32)")
        : "=r"(riverrun_result_a0) : "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a2), "r"(riverrun_a3), "r"(riverrun_a4) : "memory");
    return (int64_t)riverrun_result_a0;
}

/* stack, hash 0x41a87b6a */
long sys_stack(char a, short b, long c, long d, long e, long f, long g, long h, long i, int j);
long isys_stack(char a, short b, long c, long d, long e, long f, long g, long h, long i, int j);
long dsys_stack(char a, short b, long c, long d, long e, long f, long g, long h, long i, int j);

/* eight, hash 0x660a3e86 */
int sys_eight(int arg0, int arg1, int arg2, int arg3, int arg4, int arg5, int arg6, int arg7);
RIVERRUN_INLINE int isys_eight(int arg0, int arg1, int arg2, int arg3, int arg4, int arg5, int arg6, int arg7)
{
    register long riverrun_a0 __asm__("a0") = (long)arg0;
    register long riverrun_a1 __asm__("a1") = (long)arg1;
    register long riverrun_a2 __asm__("a2") = (long)arg2;
    register long riverrun_a3 __asm__("a3") = (long)arg3;
    register long riverrun_a4 __asm__("a4") = (long)arg4;
    register long riverrun_a5 __asm__("a5") = (long)arg5;
    register long riverrun_a6 __asm__("a6") = (long)arg6;
    register long riverrun_a7 __asm__("a7") = (long)arg7;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("50", "0x660a3e86", "sys_eight",
        "eight", "i32 (i32, i32, i32, i32, i32, i32, i32, i32)")
        : "=r"(riverrun_result_a0) : "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a2), "r"(riverrun_a3), "r"(riverrun_a4), "r"(riverrun_a5), "r"(riverrun_a6), "r"(riverrun_a7) : "memory");
    return (int)riverrun_result_a0;
}
RIVERRUN_INLINE int dsys_eight(int arg0, int arg1, int arg2, int arg3, int arg4, int arg5, int arg6, int arg7)
{
    register long riverrun_a0 __asm__("a0") = (long)arg0;
    register long riverrun_a1 __asm__("a1") = (long)arg1;
    register long riverrun_a2 __asm__("a2") = (long)arg2;
    register long riverrun_a3 __asm__("a3") = (long)arg3;
    register long riverrun_a4 __asm__("a4") = (long)arg4;
    register long riverrun_a5 __asm__("a5") = (long)arg5;
    register long riverrun_a6 __asm__("a6") = (long)arg6;
    register long riverrun_a7 __asm__("a7") = (long)arg7;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("50", "0x660a3e86", "sys_eight",
        "eight", "i32 (i32, i32, i32, i32, i32, i32, i32, i32)")
        : "=r"(riverrun_result_a0) : "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a2), "r"(riverrun_a3), "r"(riverrun_a4), "r"(riverrun_a5), "r"(riverrun_a6), "r"(riverrun_a7) : "memory");
    return (int)riverrun_result_a0;
}

/* floats, hash 0x9ba20d9e */
double sys_floats(float arg0, double arg1, float arg2, float arg3, float arg4, float arg5, float arg6, float arg7, float arg8, Point arg9);
RIVERRUN_INLINE double isys_floats(float arg0, double arg1, float arg2, float arg3, float arg4, float arg5, float arg6, float arg7, float arg8, Point arg9)
{
    unsigned long riverrun_part_a1 = 0;
    __builtin_memcpy(&riverrun_part_a1, (const char *)&arg9 + 0, 8);
    register float riverrun_fa0 __asm__("fa0") = arg0;
    register double riverrun_fa1 __asm__("fa1") = arg1;
    register float riverrun_fa2 __asm__("fa2") = arg2;
    register float riverrun_fa3 __asm__("fa3") = arg3;
    register float riverrun_fa4 __asm__("fa4") = arg4;
    register float riverrun_fa5 __asm__("fa5") = arg5;
    register float riverrun_fa6 __asm__("fa6") = arg6;
    register float riverrun_fa7 __asm__("fa7") = arg7;
    register float riverrun_a0 __asm__("a0") = arg8;
    register long riverrun_a1 __asm__("a1") = (long)riverrun_part_a1;
    register long riverrun_a7 __asm__("a7") = -1683878498;
    register double riverrun_result_fa0 __asm__("fa0");
    RIVERRUN_ASM("ecall"
        : "=f"(riverrun_result_fa0) : "f"(riverrun_fa0), "f"(riverrun_fa1), "f"(riverrun_fa2), "f"(riverrun_fa3), "f"(riverrun_fa4), "f"(riverrun_fa5), "f"(riverrun_fa6), "f"(riverrun_fa7), "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a7) : "memory");
    return (double)riverrun_result_fa0;
}
RIVERRUN_INLINE double dsys_floats(float arg0, double arg1, float arg2, float arg3, float arg4, float arg5, float arg6, float arg7, float arg8, Point arg9)
{
    unsigned long riverrun_part_a1 = 0;
    __builtin_memcpy(&riverrun_part_a1, (const char *)&arg9 + 0, 8);
    register float riverrun_fa0 __asm__("fa0") = arg0;
    register double riverrun_fa1 __asm__("fa1") = arg1;
    register float riverrun_fa2 __asm__("fa2") = arg2;
    register float riverrun_fa3 __asm__("fa3") = arg3;
    register float riverrun_fa4 __asm__("fa4") = arg4;
    register float riverrun_fa5 __asm__("fa5") = arg5;
    register float riverrun_fa6 __asm__("fa6") = arg6;
    register float riverrun_fa7 __asm__("fa7") = arg7;
    register float riverrun_a0 __asm__("a0") = arg8;
    register long riverrun_a1 __asm__("a1") = (long)riverrun_part_a1;
    register double riverrun_result_fa0 __asm__("fa0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("51", "0x9ba20d9e", "sys_floats",
        "floats", "f64 (f32, f64, f32, f32, f32, f32, f32, f32, f32, u64)")
        : "=f"(riverrun_result_fa0) : "f"(riverrun_fa0), "f"(riverrun_fa1), "f"(riverrun_fa2), "f"(riverrun_fa3), "f"(riverrun_fa4), "f"(riverrun_fa5), "f"(riverrun_fa6), "f"(riverrun_fa7), "r"(riverrun_a0), "r"(riverrun_a1) : "memory");
    return (double)riverrun_result_fa0;
}

/* narrow, hash 0x9d29d6aa */
int8_t sys_narrow(int8_t arg0, uint8_t arg1, int16_t arg2, bool arg3, char arg4);
RIVERRUN_INLINE int8_t isys_narrow(int8_t arg0, uint8_t arg1, int16_t arg2, bool arg3, char arg4)
{
    register long riverrun_a0 __asm__("a0") = (long)arg0;
    register long riverrun_a1 __asm__("a1") = (long)arg1;
    register long riverrun_a2 __asm__("a2") = (long)arg2;
    register long riverrun_a3 __asm__("a3") = (long)arg3;
    register long riverrun_a4 __asm__("a4") = (long)arg4;
    register long riverrun_a7 __asm__("a7") = -1658202454;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM("ecall"
        : "=r"(riverrun_result_a0) : "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a2), "r"(riverrun_a3), "r"(riverrun_a4), "r"(riverrun_a7) : "memory");
    return (int8_t)riverrun_result_a0;
}
RIVERRUN_INLINE int8_t dsys_narrow(int8_t arg0, uint8_t arg1, int16_t arg2, bool arg3, char arg4)
{
    register long riverrun_a0 __asm__("a0") = (long)arg0;
    register long riverrun_a1 __asm__("a1") = (long)arg1;
    register long riverrun_a2 __asm__("a2") = (long)arg2;
    register long riverrun_a3 __asm__("a3") = (long)arg3;
    register long riverrun_a4 __asm__("a4") = (long)arg4;
    register long riverrun_result_a0 __asm__("a0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("52", "0x9d29d6aa", "sys_narrow",
        "narrow", "i8 (i8, u8, i16, bool, u8)")
        : "=r"(riverrun_result_a0) : "r"(riverrun_a0), "r"(riverrun_a1), "r"(riverrun_a2), "r"(riverrun_a3), "r"(riverrun_a4) : "memory");
    return (int8_t)riverrun_result_a0;
}

/* narrowed, hash 0x28d496f7 */
float sys_narrowed(double arg0);
RIVERRUN_INLINE float isys_narrowed(double arg0)
{
    register double riverrun_fa0 __asm__("fa0") = arg0;
    register long riverrun_a7 __asm__("a7") = 685020919;
    register float riverrun_result_fa0 __asm__("fa0");
    RIVERRUN_ASM("ecall"
        : "=f"(riverrun_result_fa0) : "f"(riverrun_fa0), "r"(riverrun_a7) : "memory");
    return (float)riverrun_result_fa0;
}
RIVERRUN_INLINE float dsys_narrowed(double arg0)
{
    register double riverrun_fa0 __asm__("fa0") = arg0;
    register float riverrun_result_fa0 __asm__("fa0");
    RIVERRUN_ASM(RIVERRUN_IMPORT("53", "0x28d496f7", "sys_narrowed",
        "narrowed", "f32 (f64)")
        : "=f"(riverrun_result_fa0) : "f"(riverrun_fa0) : "memory");
    return (float)riverrun_result_fa0;
}

/* odd {name} 100%|$x, hash 0x6b28c789 */
void sys_odd(void);
RIVERRUN_INLINE void isys_odd(void)
{
    register long riverrun_a7 __asm__("a7") = 1797834633;
    RIVERRUN_ASM("ecall"
        : : "r"(riverrun_a7) : "memory");
}
RIVERRUN_INLINE void dsys_odd(void)
{
    RIVERRUN_ASM(RIVERRUN_IMPORT("54", "0x6b28c789", "sys_odd",
        "odd \\173name\\175 100\\045\\174\\044x", "void ()")
        : : : "memory");
}

/* empty, hash 0x68c73dc4 */
void sys_empty(void);
RIVERRUN_INLINE void isys_empty(void)
{
    register long riverrun_a7 __asm__("a7") = 1757887940;
    RIVERRUN_ASM("ecall"
        : : "r"(riverrun_a7) : "memory");
}
RIVERRUN_INLINE void dsys_empty(void)
{
    RIVERRUN_ASM(RIVERRUN_IMPORT("55", "0x68c73dc4", "sys_empty",
        "empty", "void ()")
        : : : "memory");
}

#ifdef __cplusplus
}
#endif
