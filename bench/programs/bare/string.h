// The part of C's library that programs need on targets without one: see library.c.
#ifndef BARE_STRING_H
#define BARE_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);

#endif
