// The part of C's library that programs need on targets without one: see library.c.
#ifndef BARE_STDIO_H
#define BARE_STDIO_H

#include <stddef.h>

typedef struct file FILE;

#define stdout ((FILE *)1)
#define stderr ((FILE *)2)

int puts(const char *text);
int fprintf(FILE *file, const char *format, ...);

#endif
