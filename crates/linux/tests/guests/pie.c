// A position-independent program without a C library: it relocates itself by what the stack tells.
#include <elf.h>

static long call(long number, long a, long b, long c) {
    register long a0 asm("a0") = a, a1 asm("a1") = b, a2 asm("a2") = c, a7 asm("a7") = number;
    asm volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}

static void print(const char *text) {
    long len = 0;
    while (text[len]) len++;
    call(64, 1, (long)text, len);
    call(64, 1, (long)"\n", 1);
}

extern const char header[] asm("__ehdr_start") __attribute__((visibility("hidden")));
extern const Elf64_Dyn dynamic[] asm("_DYNAMIC") __attribute__((visibility("hidden")));
void _start(void);

static const char word[] = "relocated";
// Holds an address, so it has to be relocated.
static const char *const volatile pointer = word;

__attribute__((used)) static void start(const long *stack) {
    const char **argv = (const char **)(stack + 1), **envp = argv + *stack + 1;
    const Elf64_Rela *relocations = 0;
    unsigned long size = 0;
    for (const Elf64_Dyn *entry = dynamic; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_RELA) relocations = (const Elf64_Rela *)(header + entry->d_un.d_ptr);
        if (entry->d_tag == DT_RELASZ) size = entry->d_un.d_val;
    }
    for (; size >= sizeof *relocations; size -= sizeof *relocations, relocations++)
        *(unsigned long *)(header + relocations->r_offset) = (unsigned long)header + relocations->r_addend;
    for (; *argv; argv++) print(*argv);
    for (; *envp; envp++) print(*envp);
    print(pointer);
    unsigned long found = 0;
    for (const Elf64_auxv_t *entry = (const Elf64_auxv_t *)(envp + 1); entry->a_type != AT_NULL; entry++) {
        unsigned long value = entry->a_un.a_val;
        found += entry->a_type == AT_PHDR && value == (unsigned long)header + ((const Elf64_Ehdr *)header)->e_phoff;
        found += entry->a_type == AT_PHNUM && value == ((const Elf64_Ehdr *)header)->e_phnum;
        found += entry->a_type == AT_PHENT && value == sizeof(Elf64_Phdr);
        found += entry->a_type == AT_ENTRY && value == (unsigned long)_start;
        found += (unsigned long)stack % 16 == 0 && entry->a_type == AT_PAGESZ && value == 4096;
    }
    call(93, found, 0, 0);
}

asm(".globl _start\n_start: mv a0, sp\n tail start");
