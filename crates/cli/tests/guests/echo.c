// Prints its arguments, its environment and its input.

#include <stdio.h>

int main(int argc, char **argv, char **environment) {
    for (int i = 1; i < argc; i++) printf("argument %s\n", argv[i]);
    for (char **variable = environment; *variable; variable++) printf("variable %s\n", *variable);
    for (int c; (c = getchar()) != EOF;) putchar(c);
    fprintf(stderr, "to standard error\n");
    return 0;
}
