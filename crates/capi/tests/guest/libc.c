/* A program with a libc: its arguments in order, a file, floats, and a status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
    char **sorted = malloc(argc * sizeof *sorted);
    memcpy(sorted, argv, argc * sizeof *sorted);
    qsort(sorted + 1, argc - 1, sizeof *sorted, order);
    for (int i = 1; i < argc; i++)
        printf("%s%c", sorted[i], i + 1 < argc ? ' ' : '\n');
    free(sorted);
    char line[32];
    FILE *file = fopen("/data/words", "r");
    while (file && fgets(line, sizeof line, file))
        printf("%zu %s", strlen(line), line);
    printf("%.3f %s\n", strtod(getenv("NUMBER"), NULL) / 3, file ? "done" : "no file");
    fprintf(stderr, "to errors\n");
    return argc;
}
