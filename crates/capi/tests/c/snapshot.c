/* Snapshots of a program with a libc, and machines from them. Arguments: the guest, a folder of files that it reads, a
   file to write. */
#include "check.h"

struct text {
    char *bytes;
    size_t len;
};

static void append(void *data, const void *bytes, size_t len)
{
    struct text *text = data;
    text->bytes = realloc(text->bytes, text->len + len + 1);
    CHECK(text->bytes != NULL);
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    text->bytes[text->len] = 0;
}

static void empty(struct text *text)
{
    free(text->bytes);
    text->bytes = NULL;
    text->len = 0;
}

static struct text output;

/* Runs the guest to its end: it writes everything, as it had written nothing before the snapshot. */
static void finish(riverrun_machine_t *machine)
{
    int32_t status;
    FINE(riverrun_machine_run(machine, &status));
    CHECK(status == 3);
    CHECK(strcmp(output.bytes, "apple pear\n4 one\n6 three\n0.333 done\n") == 0);
    empty(&output);
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    riverrun_engine_t *engine;
    riverrun_program_t *program;
    riverrun_linker_t *linker;
    riverrun_machine_t *machine, *other;
    load(argv[1], &engine, &program);
    FINE(riverrun_linker_new(engine, &linker));
    FINE(riverrun_linker_add_linux(linker));
    riverrun_linux_t *granted = riverrun_linux_new();
    const char *arguments[] = {"libc", "pear", "apple"};
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        FINE(riverrun_linux_add_argument(granted, arguments[i]));
    FINE(riverrun_linux_add_variable(granted, "NUMBER", "1"));
    FINE(riverrun_linux_set_output(granted, append, &output, NULL));
    FINE(riverrun_linux_add_directory(granted, argv[2], "/data", true));

    FINE(riverrun_machine_new(linker, program, granted, &machine));
    FINE(riverrun_machine_set_fuel(machine, 1000));
    FAILS(riverrun_machine_run(machine, NULL), RIVERRUN_ERROR_TRAP, "fuel");
    FINE(riverrun_machine_set_fuel(machine, RIVERRUN_UNLIMITED));

    riverrun_snapshot_t *snapshot, *again;
    FINE(riverrun_snapshot_new(machine, &snapshot));
    FINE(riverrun_snapshot_set_section(snapshot, "level", "three", 5));
    struct text bytes = {0};
    FINE(riverrun_snapshot_to_bytes(snapshot, append, &bytes));
    FINE(riverrun_snapshot_write_to(snapshot, argv[3]));
    riverrun_snapshot_delete(snapshot);

    FAILS(riverrun_snapshot_from_bytes(program, bytes.bytes, bytes.len - 1, &snapshot), RIVERRUN_ERROR_SNAPSHOT,
          "truncated");
    FAILS(riverrun_snapshot_read(program, "/none", &snapshot), RIVERRUN_ERROR_FILE, "cannot read /none");
    FAILS(riverrun_snapshot_write_to(NULL, "x"), RIVERRUN_ERROR_MISUSE, "`snapshot` is NULL");
    FINE(riverrun_snapshot_read(program, argv[3], &again));
    riverrun_snapshot_delete(again);
    FINE(riverrun_snapshot_from_bytes(program, bytes.bytes, bytes.len, &snapshot));
    empty(&bytes);
    const void *section;
    size_t len;
    CHECK(riverrun_snapshot_section(snapshot, "level", &section, &len) && len == 5 && memcmp(section, "three", 5) == 0);
    CHECK(!riverrun_snapshot_section(snapshot, "lives", &section, &len));

    FINE(riverrun_machine_fork(machine, granted, &other));
    finish(other);
    riverrun_machine_delete(other);
    finish(machine);
    FINE(riverrun_machine_reset(machine, snapshot));
    finish(machine);
    riverrun_machine_delete(machine);
    FINE(riverrun_machine_from_snapshot(linker, snapshot, granted, &machine));
    finish(machine);
    FINE(riverrun_machine_reset(machine, snapshot));
    finish(machine);
    riverrun_machine_delete(machine);

    riverrun_pool_t *pool;
    FINE(riverrun_pool_new(linker, snapshot, granted, 1, &pool));
    for (int round = 0; round < 3; round++) {
        FINE(riverrun_pool_get(pool, &machine));
        FINE(riverrun_pool_get(pool, &other));
        CHECK(riverrun_machine_data(machine) == NULL);
        FINE(riverrun_machine_set_data(machine, &output, destroy));
        finish(machine);
        finish(other);
        FINE(riverrun_pool_put(pool, machine));
        FINE(riverrun_pool_put(pool, other));
        CHECK(riverrun_pool_idle(pool) == 1 && destroyed == round + 1);
    }
    FAILS(riverrun_pool_put(pool, NULL), RIVERRUN_ERROR_MISUSE, "`machine` is NULL");
    riverrun_pool_delete(pool);
    riverrun_snapshot_delete(snapshot);
    riverrun_linux_delete(granted);
    riverrun_linker_delete(linker);
    riverrun_program_delete(program);
    riverrun_engine_delete(engine);
    return 0;
}
