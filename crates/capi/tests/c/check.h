/* What tests in C have in common. */
#ifndef CHECK_H
#define CHECK_H

#include <riverrun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);       \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

/* There is no error. */
#define FINE(call) fine((call), __FILE__, __LINE__)
static inline void fine(riverrun_error_t *error, const char *file, int line)
{
    if (error) {
        fprintf(stderr, "%s:%d: %s\n", file, line, riverrun_error_message(error));
        exit(1);
    }
}

/* There is an error of this kind, with these words in it. */
#define FAILS(call, kind, words) fails((call), kind, words, __FILE__, __LINE__)
static inline void fails(riverrun_error_t *error, riverrun_error_kind_t kind, const char *words, const char *file,
                         int line)
{
    const char *message = error ? riverrun_error_message(error) : "no error";
    if (!error || riverrun_error_kind(error) != kind || !strstr(message, words)) {
        fprintf(stderr, "%s:%d: %s (kind %d), and not: %s\n", file, line, message, (int)riverrun_error_kind(error),
                words);
        exit(1);
    }
    riverrun_error_delete(error);
}

/* An engine with all defaults, and a program in a file. */
static inline void load(const char *path, riverrun_engine_t **engine, riverrun_program_t **program)
{
    FINE(riverrun_engine_new(NULL, engine));
    FINE(riverrun_program_from_file(*engine, path, program));
}

/* How many destructors were called. */
static int destroyed;
static inline void destroy(void *data)
{
    (void)data;
    destroyed++;
}

#endif
