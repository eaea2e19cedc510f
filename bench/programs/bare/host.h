// What a start file provides, for the library.
#ifndef BARE_HOST_H
#define BARE_HOST_H

#include <stddef.h>

// Writes to standard output.
void host_print(const char *text, size_t size);

_Noreturn void host_exit(int status);

#endif
