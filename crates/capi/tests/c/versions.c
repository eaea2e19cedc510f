/* A program of two parts, each linked with a riverrun of its own. */
#include "check.h"

void first(const char *guest);
void second(const char *guest);

static riverrun_error_t *nothing(void *data, riverrun_machine_t *caller, uint64_t *slots)
{
    (void)data, (void)caller, (void)slots;
    return NULL;
}

/* Calls the guest, and has it fault, which is a signal that the part's own riverrun has to take. */
void PART(const char *guest)
{
    static riverrun_machine_t *machine;
    static riverrun_func_t *add, *length;
    riverrun_value_t values[2] = {riverrun_value_i32(40), riverrun_value_i32(2)}, result;
    if (!machine) {
        riverrun_engine_t *engine;
        riverrun_program_t *program;
        riverrun_linker_t *linker;
        riverrun_function_name_t import;
        CHECK(!riverrun_engine_new(NULL, &engine));
        CHECK(!riverrun_program_from_file(engine, guest, &program));
        CHECK(!riverrun_linker_new(engine, &linker));
        for (size_t i = 0; riverrun_program_import(program, i, &import); i++)
            if (strncmp(import.name, "riverrun::", strlen("riverrun::")) != 0)
                CHECK(!riverrun_linker_func_raw(linker, import.name, import.signature, nothing, NULL, NULL));
        CHECK(!riverrun_machine_new(linker, program, NULL, &machine));
        CHECK(!riverrun_func_new(machine, "add", NULL, &add));
        CHECK(!riverrun_func_new(machine, "length", NULL, &length));
    }
    for (int i = 0; i < 3; i++) {
        CHECK(!riverrun_func_call(add, machine, values, 2, &result, 1));
        CHECK(result.of.i32 == 42);
        riverrun_value_t nowhere = riverrun_value_ptr(16);
        riverrun_error_t *error = riverrun_func_call(length, machine, &nowhere, 1, &result, 1);
        CHECK(error && riverrun_error_trap(error) && riverrun_error_trap(error)->kind == RIVERRUN_TRAP_LOAD_FAULT);
        riverrun_error_delete(error);
    }
}

#ifdef MAIN
int main(int argc, char **argv)
{
    CHECK(argc == 2);
    for (int i = 0; i < 3; i++) {
        first(argv[1]);
        second(argv[1]);
    }
    return 0;
}
#endif
