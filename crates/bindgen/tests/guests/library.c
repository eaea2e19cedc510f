/* Calls of what guests without a libc are linked with, as compilers make them without being asked. */
#include <riverrun.h>

void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t);
size_t strlen(const char *);

RIVERRUN_EXPORT(void, copy, (char *, const char *, size_t));
RIVERRUN_EXPORT(void, move, (char *, const char *, size_t));
RIVERRUN_EXPORT(void, fill, (char *, int, size_t));
RIVERRUN_EXPORT(int, compare, (const char *, const char *, size_t));
RIVERRUN_EXPORT(size_t, length, (const char *));

void copy(char *to, const char *from, size_t size) { memcpy(to, from, size); }
void move(char *to, const char *from, size_t size) { memmove(to, from, size); }
void fill(char *to, int byte, size_t size) { memset(to, byte, size); }
int compare(const char *a, const char *b, size_t size) { return memcmp(a, b, size); }
size_t length(const char *text) { return strlen(text); }
