// What is measured, from the guest's side.
#include <stdint.h>

#define EXPORT(function, signature)                                                                                    \
    __asm__(".pushsection .rodata\n.Lname_" #function ": .asciz \"" #function "\"\n"                                 \
            ".Ltypes_" #function ": .asciz \"" signature "\"\n.popsection\n"                                         \
            ".pushsection .riverrun.exports, \"a\"\n.balign 8\n"                                                       \
            ".dword " #function ", .Lname_" #function ", .Ltypes_" #function "\n.popsection\n")

#define IMPORT(index, hash, name, signature)                                                                           \
    __asm__(".pushsection .rodata\n.Limport_" name ": .asciz \"" name "\"\n"                                        \
            ".Ltakes_" name ": .asciz \"" signature "\"\n.popsection\n"                                              \
            ".pushsection .riverrun.imports, \"a\"\n.balign 8\n"                                                       \
            ".word " #index ", " hash "\n.dword .Limport_" name ", .Ltakes_" name "\n.popsection\n")

IMPORT(0, EMPTY, "empty", "void ()");
IMPORT(1, I64, "i64", "i64 ()");
IMPORT(2, MANY, "many", "i64 (i32, i32, i32, i32, i32)");
IMPORT(3, THREE, "three", "i32 (i32, i32, i32)");

#define ARGUMENT(n, value) register long a##n __asm__("a" #n) = (value)

// How the host is called in the first rows: directly, or for a host that knows numbers only.
#ifdef NUMBERED
#define CALL(import, number) "ecall"
#define NUMBER(number) register long a7 __asm__("a7") = (number)
#define AND_NUMBER , "r"(a7)
#else
#define CALL(import, number) ".insn u 0x0b, x0, " #import
#define NUMBER(number)
#define AND_NUMBER
#endif

static inline long host_i64(void) {
    register long a0 __asm__("a0") = 0;
    NUMBER(402);
    __asm__ volatile(CALL(1, 402) : "+r"(a0) : "r"(a0)AND_NUMBER : "memory");
    return a0;
}

static inline long host_many(int a, int b, int c, int d, int e) {
    ARGUMENT(0, a);
    ARGUMENT(1, b);
    ARGUMENT(2, c);
    ARGUMENT(3, d);
    ARGUMENT(4, e);
    NUMBER(403);
    __asm__ volatile(CALL(2, 403) : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4)AND_NUMBER : "memory");
    return a0;
}

EXPORT(nop, "void ()");
void nop(void) {}

EXPORT(i64, "i64 ()");
long i64(void) {
    return host_i64();
}

EXPORT(many, "i64 ()");
long many(void) {
    return host_many(1, 2, 3, 4, 5);
}

EXPORT(i64_host, "i64 (i64)");
long i64_host(long times) {
    long last = 0;
    while (times--) {
        last = host_i64();
    }
    return last;
}

EXPORT(many_host, "i64 (i64)");
long many_host(long times) {
    long last = 0;
    while (times--) {
        last = host_many(1, 2, 3, 4, 5);
    }
    return last;
}

// Dynamic calls: the stubs of one form each, and functions that call them four and eight times.
__asm__(".pushsection .rodata\n.Lopaque_empty: .asciz \"empty\"\n.Lopaque_three: .asciz \"three\"\n.popsection\n"
        ".pushsection .text\n"
        "opaque_empty: li t0, " EMPTY "\nla t1, .Lopaque_empty\nli a7, 504\necall\nret\n"
        "opaque_three: li t0, " THREE "\nla t1, .Lopaque_three\nli a7, 504\necall\nret\n"
        ".popsection");
void opaque_empty(void);
int opaque_three(int, int, int);

#define BY_ECALL(form, empty_number, three_number)                                                                     \
    static inline void form##_empty(void) {                                                                            \
        register long a7 __asm__("a7") = (int)(empty_number);                                                          \
        __asm__ volatile("ecall" : : "r"(a7) : "memory");                                                              \
    }                                                                                                                  \
    static inline int form##_three(int a, int b, int c) {                                                              \
        register long a7 __asm__("a7") = (int)(three_number);                                                          \
        ARGUMENT(0, a);                                                                                                \
        ARGUMENT(1, b);                                                                                                \
        ARGUMENT(2, c);                                                                                                \
        __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");                                   \
        return a0;                                                                                                     \
    }
BY_ECALL(inline, EMPTY_NUMBER, THREE_NUMBER)
BY_ECALL(numbered, 400, 401)

static inline void direct_empty(void) {
    __asm__ volatile(".insn u 0x0b, x0, 0" : : : "memory");
}

static inline int direct_three(int a, int b, int c) {
    ARGUMENT(0, a);
    ARGUMENT(1, b);
    ARGUMENT(2, c);
    __asm__ volatile(".insn u 0x0b, x0, 3" : "+r"(a0) : "r"(a1), "r"(a2) : "memory");
    return a0;
}

#define FORM(form)                                                                                                     \
    EXPORT(form##_four, "i64 (i64)");                                                                                  \
    long form##_four(long times) {                                                                                     \
        while (times--) {                                                                                              \
            form##_empty();                                                                                            \
            form##_empty();                                                                                            \
            form##_empty();                                                                                            \
            form##_empty();                                                                                            \
        }                                                                                                              \
        return 0;                                                                                                      \
    }                                                                                                                  \
    EXPORT(form##_eight, "i64 (i64)");                                                                                 \
    long form##_eight(long times) {                                                                                    \
        int sum = 0;                                                                                                   \
        while (times--) {                                                                                              \
            form##_empty();                                                                                            \
            sum += form##_three(1, 2, 3);                                                                              \
            form##_empty();                                                                                            \
            sum += form##_three(4, 5, 6);                                                                              \
            form##_empty();                                                                                            \
            sum += form##_three(7, 8, 9);                                                                              \
            form##_empty();                                                                                            \
            sum += form##_three(10, 11, 12);                                                                           \
        }                                                                                                              \
        return sum;                                                                                                    \
    }
FORM(opaque)
FORM(inline)
FORM(direct)
FORM(numbered)

void _start(void) {}
