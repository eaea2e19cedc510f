/* What the interface answers where it is not used as it says. Arguments: the guest, another one. */
#include "check.h"

#include <fenv.h>
#include <pthread.h>

#define MISUSE RIVERRUN_ERROR_MISUSE

static riverrun_error_t *add(void *data, riverrun_machine_t *caller, const riverrun_value_t *arguments, size_t len,
                             riverrun_value_t *results, size_t results_len)
{
    (void)caller, (void)len, (void)results_len;
    results[0].of.i32 = arguments[0].of.i32 + arguments[1].of.i32;
    /* What a host could get wrong. */
    if (data && *(int *)data)
        results[0] = riverrun_value_i64(1);
    return NULL;
}

static riverrun_error_t *nothing(void *data, riverrun_machine_t *caller, uint64_t *slots)
{
    (void)data, (void)caller, (void)slots;
    return NULL;
}

/* Does with its machine what it must not. */
static riverrun_error_t *score(void *data, riverrun_machine_t *caller, uint64_t *slots)
{
    (void)slots;
    int32_t status;
    FAILS(riverrun_machine_run(caller, &status), MISUSE, "the machine is running");
    FAILS(riverrun_machine_set_fuel(caller, 1), MISUSE, "the machine is running");
    FAILS(riverrun_machine_set_timeout(caller, 1), MISUSE, "the machine is running");
    FAILS(riverrun_machine_set_pc(caller, 1), MISUSE, "the machine is running");
    CHECK(riverrun_machine_fuel(caller) == RIVERRUN_UNLIMITED);
    CHECK(riverrun_machine_pc(caller) != 0 && riverrun_machine_instructions(caller) != 0);
    return data ? riverrun_error_new(NULL) : NULL;
}

static void nulls(riverrun_engine_t *engine, riverrun_program_t *program, riverrun_linker_t *linker,
                  riverrun_machine_t *machine, riverrun_func_t *func)
{
    void *out;
    riverrun_value_t value;
    FAILS(riverrun_engine_new(NULL, NULL), MISUSE, "`engine` is NULL");
    FAILS(riverrun_program_new(NULL, "", 0, (riverrun_program_t **)&out), MISUSE, "`engine` is NULL");
    FAILS(riverrun_program_new(engine, NULL, 5, (riverrun_program_t **)&out), MISUSE, "`elf` is NULL");
    FAILS(riverrun_program_new(engine, "no ELF", 6, (riverrun_program_t **)&out), RIVERRUN_ERROR_LOAD, "ELF");
    FAILS(riverrun_program_from_file(engine, NULL, (riverrun_program_t **)&out), MISUSE, "`path` is NULL");
    FAILS(riverrun_program_from_file(engine, "/no/such", (riverrun_program_t **)&out), RIVERRUN_ERROR_FILE, "/no/such");
    FAILS(riverrun_program_from_file(engine, "\xff", (riverrun_program_t **)&out), MISUSE, "`path` is not UTF-8");
    FAILS(riverrun_program_with_artifact(program, "/no/such", (riverrun_program_t **)&out), RIVERRUN_ERROR_ARTIFACT,
          "/no/such");
    FAILS(riverrun_program_with_artifact(program, "/no/such", NULL), MISUSE, "`compiled` is NULL");
    FAILS(riverrun_linker_new(engine, NULL), MISUSE, "`linker` is NULL");
    FAILS(riverrun_linker_func(NULL, "a", "void ()", add, NULL, NULL), MISUSE, "`linker` is NULL");
    FAILS(riverrun_linker_func(linker, NULL, "void ()", add, NULL, NULL), MISUSE, "`name` is NULL");
    FAILS(riverrun_linker_func(linker, "a", NULL, add, NULL, NULL), MISUSE, "`types` is NULL");
    FAILS(riverrun_linker_func(linker, "a", "void ()", NULL, NULL, NULL), MISUSE, "`function` is NULL");
    FAILS(riverrun_machine_new(linker, NULL, NULL, (riverrun_machine_t **)&out), MISUSE, "`program` is NULL");
    FAILS(riverrun_machine_run(NULL, NULL), MISUSE, "`machine` is NULL");
    FAILS(riverrun_func_new(machine, NULL, NULL, (riverrun_func_t **)&out), MISUSE, "`name` is NULL");
    FAILS(riverrun_func_call(NULL, machine, NULL, 0, NULL, 0), MISUSE, "`func` is NULL");
    FAILS(riverrun_func_call(func, NULL, NULL, 0, NULL, 0), MISUSE, "`machine` is NULL");
    FAILS(riverrun_func_call(func, machine, NULL, 2, &value, 1), MISUSE, "`arguments` is NULL");
    FAILS(riverrun_func_call_raw(NULL, machine, NULL, 0), MISUSE, "`func` is NULL");
    FAILS(riverrun_func_call_raw(func, NULL, NULL, 0), MISUSE, "`machine` is NULL");
    /* Which compilers do not know. */
    volatile size_t one_slot = 1, two_slots = 2;
    uint64_t slot = 0;
    FAILS(riverrun_func_call_raw(func, machine, &slot, one_slot), MISUSE, "1 slots were given, but there have to be 2");
    FAILS(riverrun_func_call_raw(func, machine, NULL, two_slots), MISUSE, "`slots` is NULL");
    FAILS(riverrun_memory_read(machine, 0, NULL, 8), MISUSE, "`buffer` is NULL");
    FAILS(riverrun_memory_view(NULL, 0, 8, NULL), MISUSE, "`view` is NULL");
    FAILS(riverrun_heap_free(NULL, 0), MISUSE, "`machine` is NULL");
    FAILS(riverrun_linux_add_argument(NULL, "a"), MISUSE, "`granted` is NULL");
    CHECK(riverrun_machine_data(NULL) == NULL && riverrun_machine_fuel(NULL) == RIVERRUN_UNLIMITED);
    CHECK(riverrun_program_exports(NULL) == 0 && riverrun_error_frames(NULL) == 0 && !riverrun_error_trap(NULL));
    CHECK(strcmp(riverrun_error_message(NULL), "`error` is NULL") == 0);
    CHECK(riverrun_interrupt_handle_new(NULL) == NULL);
    riverrun_interrupt_handle_interrupt(NULL);
    riverrun_config_set_stack_size(NULL, 1);
    riverrun_config_set_address_bits(NULL, 26);
    riverrun_engine_delete(NULL);
    riverrun_program_delete(NULL);
    riverrun_linker_delete(NULL);
    riverrun_machine_delete(NULL);
    riverrun_func_delete(NULL);
    riverrun_error_delete(NULL);
    riverrun_config_delete(NULL);
    riverrun_linux_t *granted = riverrun_linux_new();
    const riverrun_file_system_t functions = {0};
    FAILS(riverrun_linux_add_file_system(granted, "/data", NULL, NULL, NULL), MISUSE, "`functions` is NULL");
    FAILS(riverrun_linux_add_file_system(granted, "/data", &functions, NULL, NULL), MISUSE, "`functions->look` is NULL");
    FAILS(riverrun_entries_add(NULL, "a", false), MISUSE, "`entries` is NULL");
    riverrun_linux_delete(granted);
    riverrun_linux_delete(NULL);
    riverrun_interrupt_handle_delete(NULL);
}

static void types(riverrun_linker_t *linker, riverrun_machine_t *machine, riverrun_func_t *func)
{
    riverrun_func_t *other;
    FAILS(riverrun_func_new(machine, "add", "i64 (i64)", &other), RIVERRUN_ERROR_LINK, "exports add as `i32 (i32, i32)`");
    FAILS(riverrun_func_new(machine, "no_such", NULL, &other), RIVERRUN_ERROR_LINK, "no function no_such");
    FAILS(riverrun_func_new(machine, "mixed", NULL, &other), RIVERRUN_ERROR_LINK, "which types mixed has");
    FAILS(riverrun_func_new(machine, "mixed", "int ()", &other), MISUSE, "`int` is no type");
    FAILS(riverrun_func_new(machine, "mixed", "void ({f32, f32})", &other), RIVERRUN_ERROR_LINK, "no structures");
    FAILS(riverrun_func_at(machine, 1, "void ()", &other), RIVERRUN_ERROR_LINK, "no function can be at 0x1");

    riverrun_value_t values[3] = {riverrun_value_i32(1), riverrun_value_f32(1), riverrun_value_i32(3)}, result;
    FAILS(riverrun_func_call(func, machine, values, 2, &result, 1), MISUSE, "argument 1 is f32, but has to be i32");
    FAILS(riverrun_func_call(func, machine, values, 3, &result, 1), MISUSE, "3 arguments were given");
    FAILS(riverrun_func_call(func, machine, values, 2, NULL, 0), MISUSE, "0 results were given, but there have to be 1");
    FAILS(riverrun_func_call(func, machine, values, 1, &result, 1), MISUSE, "1 arguments were given");
    FAILS(riverrun_func_call(func, machine, values, 2, NULL, 1), MISUSE, "`results` is NULL");
    memset(&values[1].kind, 0x7f, sizeof values[1].kind);
    FAILS(riverrun_func_call(func, machine, values, 2, &result, 1), MISUSE, "argument 1 is of no known type");

    FAILS(riverrun_linker_func(linker, "Game::add", "void ()", add, NULL, destroy), RIVERRUN_ERROR_LINK, "already has");
    CHECK(destroyed == 1);
    FAILS(riverrun_linker_func(linker, "b", "i32 (", add, NULL, destroy), MISUSE, "a type is missing");
    CHECK(destroyed == 2);
    FAILS(riverrun_linker_syscall(linker, 100000, "void ()", score, NULL, destroy), RIVERRUN_ERROR_LINK, "100000");
    CHECK(destroyed == 3);
    FAILS(riverrun_linker_add_linux(NULL), MISUSE, "`linker` is NULL");
}

static void *run_elsewhere(void *machine)
{
    int32_t status;
    riverrun_error_t *error;
    /* In debug builds, while the other thread uses it, this one may not. */
    while ((error = riverrun_machine_run(machine, &status)) && riverrun_error_kind(error) == MISUSE)
        riverrun_error_delete(error);
    CHECK(error && riverrun_error_trap(error)->kind == RIVERRUN_TRAP_INTERRUPTED);
    riverrun_error_delete(error);
    return NULL;
}

/* Debug builds notice two threads that use one machine; whichever comes second is told. */
static void threads(riverrun_linker_t *linker, riverrun_program_t *program, bool is_debug)
{
    riverrun_machine_t *machine;
    FINE(riverrun_machine_new(linker, program, NULL, &machine));
    riverrun_func_t *spin;
    FINE(riverrun_func_new(machine, "spin", NULL, &spin));
    FINE(riverrun_machine_set_pc(machine, riverrun_func_address(spin)));
    riverrun_interrupt_handle_t *handle = riverrun_interrupt_handle_new(machine);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run_elsewhere, machine) == 0);
    if (is_debug) {
        /* Until the other thread has begun, this one may. */
        riverrun_error_t *error;
        do
            error = riverrun_machine_end_initialization(machine);
        while (!error);
        fails(error, MISUSE, "another thread is using the machine", __FILE__, __LINE__);
    }
    riverrun_interrupt_handle_interrupt(handle);
    CHECK(pthread_join(thread, NULL) == 0);
    riverrun_machine_delete(machine);
    /* Handles outlive their machines. */
    riverrun_interrupt_handle_interrupt(handle);
    riverrun_interrupt_handle_delete(handle);
    riverrun_func_delete(spin);
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    bool is_debug = *argv[3] == 'd';
    riverrun_config_t *config = riverrun_config_new();
    riverrun_config_set_stack_size(config, 0);
    riverrun_engine_t *engine;
    FAILS(riverrun_engine_new(config, &engine), RIVERRUN_ERROR_CONFIG, "a stack of 0 bytes");
    riverrun_config_set_address_bits(config, 12);
    FAILS(riverrun_engine_new(config, &engine), RIVERRUN_ERROR_CONFIG, "addresses of 12 bits");
    riverrun_config_delete(config);
    FINE(riverrun_engine_new(NULL, &engine));
    riverrun_program_t *program, *other;
    FINE(riverrun_program_from_file(engine, argv[1], &program));
    FINE(riverrun_program_from_file(engine, argv[2], &other));
    riverrun_linker_t *linker;
    FINE(riverrun_linker_new(engine, &linker));
    riverrun_machine_t *machine;
    FAILS(riverrun_machine_new(linker, other, NULL, &machine), RIVERRUN_ERROR_LINK, "calls the host function Game::add");
    int wrong = 0;
    FINE(riverrun_linker_func(linker, "Game::add", "i32 (i32, i32)", add, &wrong, NULL));
    FINE(riverrun_linker_func_raw(linker, "Game::score", "i32 (i64)", score, NULL, NULL));
    FAILS(riverrun_machine_new(linker, other, NULL, &machine), RIVERRUN_ERROR_LINK, "Game::score as `i32 (i32)`");
    riverrun_linker_delete(linker);

    FINE(riverrun_linker_new(engine, &linker));
    FINE(riverrun_linker_func(linker, "Game::add", "i32 (i32, i32)", add, &wrong, NULL));
    FINE(riverrun_linker_func_raw(linker, "Game::score", "i32 (i32)", score, NULL, NULL));
    FINE(riverrun_machine_new(linker, other, NULL, &machine));
    riverrun_func_t *play, *add_there;
    FINE(riverrun_func_new(machine, "play", NULL, &play));
    riverrun_value_t value = riverrun_value_i32(2), result;
    FINE(riverrun_func_call(play, machine, &value, 1, &result, 1));
    wrong = 1;
    FAILS(riverrun_func_call(play, machine, &value, 1, &result, 1), RIVERRUN_ERROR_HOST, "result 0 is i64, but has to be i32");
    wrong = 0;
    FINE(riverrun_func_call(play, machine, &value, 1, &result, 1));

    /* Guest functions and machines of two programs. */
    riverrun_linker_t *small;
    FINE(riverrun_linker_new(engine, &small));
    riverrun_function_name_t import;
    for (size_t i = 0; riverrun_program_import(program, i, &import); i++)
        if (strncmp(import.name, "riverrun::", strlen("riverrun::")) != 0)
            FINE(riverrun_linker_func_raw(small, import.name, import.signature, nothing, NULL, NULL));
    riverrun_machine_t *adder;
    FINE(riverrun_machine_new(small, program, NULL, &adder));
    FINE(riverrun_func_new(adder, "add", NULL, &add_there));
    riverrun_value_t both[2] = {riverrun_value_i32(1), riverrun_value_i32(2)};
    FAILS(riverrun_func_call(add_there, machine, both, 2, &result, 1), RIVERRUN_ERROR_LINK, "of another program");
    uint64_t slots[2] = {1, 2};
    FAILS(riverrun_func_call_raw(add_there, machine, slots, 2), RIVERRUN_ERROR_LINK, "of another program");
    riverrun_error_t *error;
    CHECK(!riverrun_func_enter(add_there, machine, 1, 2, 0, slots, &error));
    riverrun_func_t *two;
    FINE(riverrun_func_at(machine, riverrun_func_address(play), "{i64, i64} (i32)", &two));
    CHECK(!riverrun_func_enter(two, machine, 1, 0, 0, slots, &error));
    FAILS(riverrun_func_call_raw(two, machine, slots, 1), MISUSE, "there have to be 2");
    riverrun_func_delete(two);

    threads(small, program, is_debug);
    /* A machine whose linker and program are gone. */
    riverrun_program_delete(program);
    nulls(engine, other, linker, adder, add_there);
    types(linker, adder, add_there);
    riverrun_linker_delete(small);
    riverrun_linker_delete(linker);
    riverrun_program_delete(other);
    riverrun_engine_delete(engine);
    FINE(riverrun_func_call(add_there, adder, both, 2, &result, 1));
    CHECK(result.of.i32 == 3);
    FINE(riverrun_func_call(play, machine, &value, 1, &result, 1));

    /* Another float environment than the default one is for debug builds to notice. */
    if (is_debug) {
        fesetround(FE_UPWARD);
        riverrun_error_t *error = riverrun_func_call(add_there, adder, both, 2, &result, 1);
        fesetround(FE_TONEAREST);
        fails(error, MISUSE, "float environment", __FILE__, __LINE__);
    }
    riverrun_func_delete(play);
    riverrun_func_delete(add_there);
    riverrun_machine_delete(machine);
    riverrun_machine_delete(adder);
    return 0;
}
