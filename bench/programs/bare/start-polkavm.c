// PolkaVM: one exported function, `run(size)`, whose result is the address of what was printed. Its
// linker finds exports by the records below.
#include "host.h"

#include <stdint.h>
#include <string.h>

static char printed[256];
static size_t printed_size;

void host_print(const char *text, size_t size) {
    if (size < sizeof printed - printed_size) {
        memcpy(printed + printed_size, text, size);
        printed_size += size;
    }
}

_Noreturn void host_exit(int status) {
    (void)status;
    __builtin_trap();
}

int main(int argc, char **argv);

// `printed` always ends in a zero byte. A status other than 0 is a trap.
uint64_t run(uint64_t size) {
    char digits[24];
    char *first = digits + sizeof digits;
    *--first = 0;
    do
        *--first = (char)('0' + size % 10);
    while ((size /= 10) != 0);
    char *arguments[] = {"program", first, NULL};
    int status = main(2, arguments);
    if (status != 0)
        host_exit(status);
    return (uintptr_t)printed;
}

static const char name[] = "run";

struct __attribute__((packed)) function {
    uint8_t version;
    uint32_t flags, name_size;
    const char *name;
    uint8_t inputs, outputs;
};

__attribute__((section(".polkavm_metadata"), used)) static struct function run_function = {1, 0, 3, name, 1, 1};

struct __attribute__((packed)) export {
    uint8_t version;
    struct function *function;
    uint64_t (*address)(uint64_t);
};

__attribute__((section(".polkavm_exports"), used)) static struct export run_export = {1, &run_function, run};
