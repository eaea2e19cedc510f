/* A program with a libc, and what it is granted. Arguments: the guest, an artifact of it or "", a folder of files. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <unistd.h>

#include "check.h"

struct text {
    char bytes[200];
    size_t len;
};

/* The machine that the functions below serve, and one that waits meanwhile. */
static riverrun_machine_t *served, *other;

/* While they serve it they cannot use it, but others. */
static void use_machines(void)
{
    static const char words[] = "an output or a file system of its grants serves";
    if (!served)
        return;
    char byte;
    riverrun_func_t *func;
    int32_t status;
    FAILS(riverrun_memory_read(served, 0x10000, &byte, 1), RIVERRUN_ERROR_MISUSE, words);
    FAILS(riverrun_func_new(served, "main", NULL, &func), RIVERRUN_ERROR_MISUSE, words);
    FAILS(riverrun_machine_run(served, &status), RIVERRUN_ERROR_MISUSE, words);
    FINE(riverrun_machine_set_fuel(other, 1));
    FAILS(riverrun_machine_run(other, &status), RIVERRUN_ERROR_TRAP, "fuel");
    FAILS(riverrun_memory_read(served, 0x10000, &byte, 1), RIVERRUN_ERROR_MISUSE, words);
}

static void append(void *data, const void *bytes, size_t len)
{
    use_machines();
    struct text *text = data;
    CHECK(text->len + len < sizeof text->bytes);
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
}

/* A file system with one file, whose text is the data. */
static int32_t look(void *data, const char *path, riverrun_file_status_t *status)
{
    if (*path == 0)
        status->is_directory = true;
    else if (strcmp(path, "words") == 0)
        status->len = strlen(data);
    else
        return ENOENT;
    return 0;
}

static int32_t list(void *data, const char *path, riverrun_entries_t *entries)
{
    (void)data;
    (void)path;
    FINE(riverrun_entries_add(entries, "words", false));
    return 0;
}

static int64_t read_words(void *data, const char *path, void *buffer, size_t len, uint64_t at)
{
    (void)path;
    use_machines();
    const char *text = data;
    size_t size = strlen(text), rest = at < size ? size - at : 0;
    size_t count = rest < len ? rest : len;
    memcpy(buffer, text + size - rest, count);
    return (int64_t)count;
}

static int dropped;

static void count(void *data)
{
    (void)data;
    dropped++;
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    riverrun_engine_t *engine;
    riverrun_program_t *program;
    riverrun_linker_t *linker;
    riverrun_machine_t *machine;
    load(argv[1], &engine, &program);
    if (*argv[2]) {
        riverrun_program_t *compiled;
        FINE(riverrun_program_with_artifact(program, argv[2], &compiled));
        riverrun_program_delete(program);
        program = compiled;
    }
    CHECK(riverrun_program_is_compiled(program) == (*argv[2] != 0));

    static const char *arguments[] = {"libc", "pear", "apple", "orange"};
    struct text output = {0}, errors = {0};
    riverrun_linux_t *granted = riverrun_linux_new();
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        FINE(riverrun_linux_add_argument(granted, arguments[i]));
    FINE(riverrun_linux_add_variable(granted, "NUMBER", "1"));
    FINE(riverrun_linux_set_output(granted, append, &output, NULL));
    FINE(riverrun_linux_set_errors(granted, append, &errors, NULL));
    FINE(riverrun_linux_add_directory(granted, argv[3], "/data", true));

    FINE(riverrun_linker_new(engine, &linker));
    FINE(riverrun_linker_add_linux(linker));
    for (int round = 0; round < 2; round++) {
        memset(&output, 0, sizeof output);
        memset(&errors, 0, sizeof errors);
        FINE(riverrun_machine_new(linker, program, granted, &machine));
        int32_t status;
        FINE(riverrun_machine_run(machine, &status));
        CHECK(status == 4);
        CHECK(strcmp(output.bytes, "apple orange pear\n4 one\n6 three\n0.333 done\n") == 0);
        CHECK(strcmp(errors.bytes, "to errors\n") == 0);
        riverrun_machine_delete(machine);
    }

    /* The same without a directory of the host. */
    riverrun_linux_t *alone = riverrun_linux_new();
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        FINE(riverrun_linux_add_argument(alone, arguments[i]));
    FINE(riverrun_linux_add_variable(alone, "NUMBER", "1"));
    memset(&output, 0, sizeof output);
    FINE(riverrun_linux_set_output(alone, append, &output, NULL));
    FINE(riverrun_linux_add_file(alone, "/data/words", "one\nthree\n", 10));
    FINE(riverrun_linux_set_current_directory(alone, "/data"));
    FINE(riverrun_linux_set_max_threads(alone, 1));
    FINE(riverrun_linux_set_max_private_files(alone, 4096));
    riverrun_error_t *refused = riverrun_linux_add_file(alone, "/data/words", "twice", 5);
    CHECK(refused != NULL && strstr(riverrun_error_message(refused), "/data/words") != NULL);
    riverrun_error_delete(refused);
    FINE(riverrun_linux_add_connect(alone, "127.0.0.1:80"));
    FINE(riverrun_linux_add_listen(alone, "8080"));
    refused = riverrun_linux_add_connect(alone, "127.0.0.1");
    CHECK(refused != NULL && strstr(riverrun_error_message(refused), "must be HOST:PORT") != NULL);
    riverrun_error_delete(refused);
    refused = riverrun_linux_add_listen(alone, "name:80");
    CHECK(refused != NULL && strstr(riverrun_error_message(refused), "must be PORT or ADDRESS:PORT") != NULL);
    riverrun_error_delete(refused);
    refused = riverrun_linux_set_current_directory(alone, "data");
    CHECK(refused != NULL);
    riverrun_error_delete(refused);
    FINE(riverrun_machine_new(linker, program, alone, &machine));
    int32_t ended;
    FINE(riverrun_machine_run(machine, &ended));
    CHECK(strcmp(output.bytes, "apple orange pear\n4 one\n6 three\n0.333 done\n") == 0);
    riverrun_machine_delete(machine);
    riverrun_linux_delete(alone);

    /* The same in a file system of the host. */
    riverrun_linux_t *hosted = riverrun_linux_new();
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        FINE(riverrun_linux_add_argument(hosted, arguments[i]));
    FINE(riverrun_linux_add_variable(hosted, "NUMBER", "1"));
    FINE(riverrun_linux_set_output(hosted, append, &output, NULL));
    const riverrun_file_system_t functions = {.look = look, .list = list, .read = read_words};
    static const char words[] = "one\nthree\n";
    FINE(riverrun_linux_add_file_system(hosted, "/data", &functions, (void *)words, count));
    refused = riverrun_linux_add_file_system(hosted, "/data", &functions, NULL, count);
    CHECK(refused != NULL && strstr(riverrun_error_message(refused), "/data") != NULL);
    CHECK(dropped == 1);
    riverrun_error_delete(refused);
    for (int round = 0; round < 2; round++) {
        memset(&output, 0, sizeof output);
        FINE(riverrun_machine_new(linker, program, hosted, &machine));
        FINE(riverrun_machine_new(linker, program, NULL, &other));
        served = machine;
        FINE(riverrun_machine_run(machine, &ended));
        served = NULL;
        CHECK(strcmp(output.bytes, "apple orange pear\n4 one\n6 three\n0.333 done\n") == 0);
        CHECK(riverrun_machine_instructions(other) > 0);
        riverrun_machine_delete(other);
        riverrun_machine_delete(machine);
    }
    riverrun_linux_delete(hosted);
    CHECK(dropped == 2);

    /* The file that the guest opens is its fourth. */
    for (size_t count = 3; count <= 4; count++) {
        memset(&output, 0, sizeof output);
        FINE(riverrun_linux_set_max_descriptors(granted, count));
        FINE(riverrun_linux_set_max_file_size(granted, 0));
        FINE(riverrun_machine_new(linker, program, granted, &machine));
        int32_t status;
        FINE(riverrun_machine_run(machine, &status));
        CHECK((strstr(output.bytes, "no file") != NULL) == (count == 3));
        riverrun_machine_delete(machine);
    }

    /* The reader of the guest's output is gone: the guest's affair, though C hosts do not ignore SIGPIPE. */
    int ends[2];
    CHECK(pipe(ends) == 0);
    CHECK(dup2(ends[1], 1) == 1 && close(ends[0]) == 0);
    FINE(riverrun_linux_inherit_streams(granted));
    FINE(riverrun_machine_new(linker, program, granted, &machine));
    int32_t status;
    riverrun_error_t *error = riverrun_machine_run(machine, &status);
    CHECK(error != NULL && strstr(riverrun_error_message(error), "signal 13") != NULL);
    riverrun_error_delete(error);
    riverrun_machine_delete(machine);

    riverrun_linux_delete(granted);
    riverrun_linker_delete(linker);
    riverrun_program_delete(program);
    riverrun_engine_delete(engine);
    return 0;
}
