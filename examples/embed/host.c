/* A host in C: calls a guest, and is called by it. */
#include <riverrun.h>
#include <stdio.h>
#include <stdlib.h>

static void check(riverrun_error_t *error)
{
    if (error) {
        fprintf(stderr, "%s\n", riverrun_error_message(error));
        exit(1);
    }
}

static riverrun_error_t *add(void *calls, riverrun_machine_t *caller, uint64_t *slots)
{
    (void)caller;
    ++*(int *)calls;
    slots[0] = riverrun_slot_i32(riverrun_slot_as_i32(slots[0]) + riverrun_slot_as_i32(slots[1]));
    return NULL;
}

static riverrun_error_t *print(void *data, riverrun_machine_t *caller, uint64_t *slots)
{
    const char *text;
    riverrun_error_t *error = riverrun_memory_string(caller, slots[0], 1000, &text, NULL);
    (void)data;
    if (!error)
        printf("guest: %s\n", text);
    return error;
}

int main(int argc, char **argv)
{
    riverrun_engine_t *engine;
    riverrun_linker_t *linker;
    riverrun_program_t *program;
    riverrun_machine_t *machine;
    riverrun_func_t *update;
    riverrun_value_t arguments[2] = {riverrun_value_f32(0.5f), riverrun_value_i32(37)}, result;
    int calls = 0;

    check(riverrun_engine_new(NULL, &engine));
    check(riverrun_linker_new(engine, &linker));
    check(riverrun_linker_func_raw(linker, "Game::add", "i32 (i32, i32)", add, &calls, NULL));
    check(riverrun_linker_func_raw(linker, "Game::print", "void (ptr)", print, NULL, NULL));
    check(riverrun_program_from_file(engine, argc > 1 ? argv[1] : "guest.elf", &program));
    check(riverrun_machine_new(linker, program, NULL, &machine));
    check(riverrun_func_new(machine, "update", "i32 (f32, i32)", &update));
    check(riverrun_func_call(update, machine, arguments, 2, &result, 1));
    printf("host: %d after %d call\n", (int)result.of.i32, calls);
    arguments[1] = riverrun_value_i32(-1);
    riverrun_error_t *error = riverrun_func_call(update, machine, arguments, 2, &result, 1);
    printf("host: %s\n", riverrun_error_trap(error) ? "the guest has trapped" : "no trap");
    riverrun_error_delete(error);
    riverrun_func_delete(update);
    riverrun_machine_delete(machine);
    riverrun_program_delete(program);
    riverrun_linker_delete(linker);
    riverrun_engine_delete(engine);
}
