// The part of C's library that programs need on targets without one: see library.c.
#ifndef BARE_STDLIB_H
#define BARE_STDLIB_H

#include <stddef.h>

void *malloc(size_t size);
void free(void *place);
_Noreturn void exit(int status);
_Noreturn void abort(void);
unsigned long long strtoull(const char *text, char **end, int base);

#endif
