// Rows of riverrun.h: calls by slots, and calls of values with their types.
#include "rows.h"

#include <riverrun.h>
#include <stdio.h>
#include <stdlib.h>

struct c_row {
    riverrun_machine_t *machine;
    riverrun_func_t *func;
    bool checked;
};

static void fine(riverrun_error_t *error)
{
    if (error) {
        fprintf(stderr, "%s\n", riverrun_error_message(error));
        exit(1);
    }
}

static riverrun_error_t *empty(void *data, riverrun_machine_t *caller, uint64_t *slots)
{
    (void)data, (void)caller, (void)slots;
    return NULL;
}

static riverrun_error_t *i64_unchecked(void *data, riverrun_machine_t *caller, uint64_t *slots)
{
    (void)data, (void)caller;
    slots[0] = 42;
    return NULL;
}

static int64_t sum(int32_t a, int32_t b, int32_t c, int32_t d, int32_t e) { return a + (int64_t)(b ^ c ^ d ^ e); }

static riverrun_error_t *many_unchecked(void *data, riverrun_machine_t *caller, uint64_t *slots)
{
    (void)data, (void)caller;
    slots[0] = riverrun_slot_i64(sum(riverrun_slot_as_i32(slots[0]), riverrun_slot_as_i32(slots[1]),
                                     riverrun_slot_as_i32(slots[2]), riverrun_slot_as_i32(slots[3]),
                                     riverrun_slot_as_i32(slots[4])));
    return NULL;
}

static riverrun_error_t *i64_checked(void *data, riverrun_machine_t *caller, const riverrun_value_t *arguments,
                                     size_t arguments_len, riverrun_value_t *results, size_t results_len)
{
    (void)data, (void)caller, (void)arguments, (void)arguments_len, (void)results_len;
    results[0] = riverrun_value_i64(42);
    return NULL;
}

static riverrun_error_t *many_checked(void *data, riverrun_machine_t *caller, const riverrun_value_t *arguments,
                                      size_t arguments_len, riverrun_value_t *results, size_t results_len)
{
    (void)data, (void)caller, (void)arguments_len, (void)results_len;
    results[0] = riverrun_value_i64(sum(arguments[0].of.i32, arguments[1].of.i32, arguments[2].of.i32,
                                        arguments[3].of.i32, arguments[4].of.i32));
    return NULL;
}

c_row *c_row_new(const char *guest, const char *artifact, const char *name, bool checked)
{
    static const char *const many = "i64 (i32, i32, i32, i32, i32)";
    riverrun_engine_t *engine;
    riverrun_program_t *program;
    riverrun_linker_t *linker;
    c_row *row = calloc(1, sizeof *row);
    fine(riverrun_engine_new(NULL, &engine));
    fine(riverrun_program_from_file(engine, guest, &program));
    if (*artifact) {
        riverrun_program_t *compiled;
        fine(riverrun_program_with_artifact(program, artifact, &compiled));
        riverrun_program_delete(program);
        program = compiled;
    }
    fine(riverrun_linker_new(engine, &linker));
    fine(riverrun_linker_func_raw(linker, "empty", "void ()", empty, NULL, NULL));
    fine(riverrun_linker_func_raw(linker, "three", "i32 (i32, i32, i32)", empty, NULL, NULL));
    if (checked) {
        fine(riverrun_linker_func(linker, "i64", "i64 ()", i64_checked, NULL, NULL));
        fine(riverrun_linker_func(linker, "many", many, many_checked, NULL, NULL));
    } else {
        fine(riverrun_linker_func_raw(linker, "i64", "i64 ()", i64_unchecked, NULL, NULL));
        fine(riverrun_linker_func_raw(linker, "many", many, many_unchecked, NULL, NULL));
    }
    fine(riverrun_machine_new(linker, program, NULL, &row->machine));
    fine(riverrun_func_new(row->machine, name, NULL, &row->func));
    row->checked = checked;
    riverrun_linker_delete(linker);
    riverrun_program_delete(program);
    riverrun_engine_delete(engine);
    return row;
}

void c_row_delete(c_row *row)
{
    riverrun_func_delete(row->func);
    riverrun_machine_delete(row->machine);
    free(row);
}

static int64_t run_checked(c_row *row, enum row_kind kind, uint64_t times)
{
    riverrun_value_t result = riverrun_value_i64(0), argument;
    int64_t total = 0;
    switch (kind) {
    case ROW_NOP:
        while (times--)
            fine(riverrun_func_call(row->func, row->machine, NULL, 0, NULL, 0));
        break;
    case ROW_NUMBER:
        while (times--) {
            fine(riverrun_func_call(row->func, row->machine, NULL, 0, &result, 1));
            total += result.of.i64;
        }
        break;
    case ROW_LOOP:
        argument = riverrun_value_i64((int64_t)times);
        fine(riverrun_func_call(row->func, row->machine, &argument, 1, &result, 1));
        total = result.of.i64;
    }
    return total;
}

int64_t c_row_run(c_row *row, enum row_kind kind, uint64_t times)
{
    if (row->checked)
        return run_checked(row, kind, times);
    uint64_t slot = 0;
    int64_t total = 0;
    switch (kind) {
    case ROW_NOP:
        while (times--)
            fine(riverrun_func_call_raw(row->func, row->machine, NULL, 0));
        break;
    case ROW_NUMBER:
        while (times--) {
            fine(riverrun_func_call_raw(row->func, row->machine, &slot, 1));
            total += riverrun_slot_as_i64(slot);
        }
        break;
    case ROW_LOOP:
        slot = times;
        fine(riverrun_func_call_raw(row->func, row->machine, &slot, 1));
        total = riverrun_slot_as_i64(slot);
    }
    return total;
}
