// A program with a libc that main prepares, and whose functions a host calls afterwards.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 200 };

static char *words[WORDS];
static int calls;

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Which word comes first after one that is changed, and how often this was called.
__attribute__((used)) long ask(long which)
{
    calls++;
    snprintf(words[which % WORDS], 16, "%08ld", which * 7919 % 10007);
    qsort(words, WORDS, sizeof *words, compare);
    char *copy = strdup(words[which % WORDS]);
    long result = atol(copy) * 1000 + calls;
    free(copy);
    return result;
}

int main(void)
{
    srand(1);
    for (int i = 0; i < WORDS; i++) {
        words[i] = malloc(16);
        snprintf(words[i], 16, "%08d", rand() % 10007);
    }
    puts("ready");
    return 7;
}
