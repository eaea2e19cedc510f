// A program with a libc whose allocations, the libc's own too, are on the host's heap; with an argument it
// frees a block twice.
#include <riverrun/malloc.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    (void)argv;
    char *text = strdup("on the host's heap");
    char *large = malloc(1000000);
    if (!text || !large || riverrun_malloc_usable_size(text) < strlen(text) + 1)
        return 1;
    memset(large, 1, 1000000);
    puts(text);
    free(large);
    if (argc > 1) {
        // The compiler would see it, and refuse.
        char *volatile again = text;
        free(text);
        free(again);
    } else {
        free(text);
    }
    return 0;
}
