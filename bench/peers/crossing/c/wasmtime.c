// Rows of Wasmtime's C API, as its pull request 3350 has them: calls by raw values, and calls that check.
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wasm.h>
#include <wasmtime.h>

struct wasmtime_row {
    wasm_engine_t *engine;
    wasmtime_store_t *store;
    wasmtime_context_t *context;
    wasmtime_func_t func;
    bool checked;
};

static void fine(wasmtime_error_t *error, wasm_trap_t *trap)
{
    wasm_byte_vec_t message;
    if (!error && !trap)
        return;
    if (error)
        wasmtime_error_message(error, &message);
    else
        wasm_trap_message(trap, &message);
    fprintf(stderr, "Wasmtime: %.*s\n", (int)message.size, message.data);
    exit(1);
}

static int64_t sum(int32_t a, int32_t b, int32_t c, int32_t d, int32_t e) { return a + (int64_t)(b ^ c ^ d ^ e); }

static wasm_trap_t *i64_unchecked(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *values, size_t len)
{
    (void)env, (void)caller, (void)len;
    values[0].i64 = 42;
    return NULL;
}

static wasm_trap_t *many_unchecked(void *env, wasmtime_caller_t *caller, wasmtime_val_raw_t *values, size_t len)
{
    (void)env, (void)caller, (void)len;
    values[0].i64 = sum(values[0].i32, values[1].i32, values[2].i32, values[3].i32, values[4].i32);
    return NULL;
}

static wasm_trap_t *i64_checked(void *env, wasmtime_caller_t *caller, const wasmtime_val_t *arguments,
                                size_t arguments_len, wasmtime_val_t *results, size_t results_len)
{
    (void)env, (void)caller, (void)arguments, (void)arguments_len, (void)results_len;
    results[0].kind = WASMTIME_I64;
    results[0].of.i64 = 42;
    return NULL;
}

static wasm_trap_t *many_checked(void *env, wasmtime_caller_t *caller, const wasmtime_val_t *arguments,
                                 size_t arguments_len, wasmtime_val_t *results, size_t results_len)
{
    (void)env, (void)caller, (void)arguments_len, (void)results_len;
    results[0].kind = WASMTIME_I64;
    results[0].of.i64 = sum(arguments[0].of.i32, arguments[1].of.i32, arguments[2].of.i32, arguments[3].of.i32,
                            arguments[4].of.i32);
    return NULL;
}

// A function type with so many i32 and an i64 as its result.
static wasm_functype_t *type(size_t parameters)
{
    wasm_valtype_t *kinds[5], *result = wasm_valtype_new(WASM_I64);
    wasm_valtype_vec_t arguments, results;
    for (size_t n = 0; n < parameters; n++)
        kinds[n] = wasm_valtype_new(WASM_I32);
    wasm_valtype_vec_new(&arguments, parameters, kinds);
    wasm_valtype_vec_new(&results, 1, &result);
    return wasm_functype_new(&arguments, &results);
}

wasmtime_row *wasmtime_row_new(const char *wat, const char *name, bool checked)
{
    wasmtime_row *row = calloc(1, sizeof *row);
    wasm_functype_t *types[2] = {type(0), type(5)};
    wasm_byte_vec_t bytes;
    wasmtime_module_t *module;
    wasmtime_extern_t imports[2], export;
    wasmtime_instance_t instance;
    wasm_trap_t *trap = NULL;

    row->engine = wasm_engine_new();
    row->store = wasmtime_store_new(row->engine, NULL, NULL);
    row->context = wasmtime_store_context(row->store);
    row->checked = checked;
    fine(wasmtime_wat2wasm(wat, strlen(wat), &bytes), NULL);
    fine(wasmtime_module_new(row->engine, (const uint8_t *)bytes.data, bytes.size, &module), NULL);
    for (int n = 0; n < 2; n++) {
        imports[n].kind = WASMTIME_EXTERN_FUNC;
        if (checked)
            wasmtime_func_new(row->context, types[n], n ? many_checked : i64_checked, NULL, NULL,
                              &imports[n].of.func);
        else
            wasmtime_func_new_unchecked(row->context, types[n], n ? many_unchecked : i64_unchecked, NULL, NULL,
                                        &imports[n].of.func);
        wasm_functype_delete(types[n]);
    }
    wasmtime_error_t *error = wasmtime_instance_new(row->context, module, imports, 2, &instance, &trap);
    fine(error, trap);
    if (!wasmtime_instance_export_get(row->context, &instance, name, strlen(name), &export)) {
        fprintf(stderr, "Wasmtime: no export %s\n", name);
        exit(1);
    }
    row->func = export.of.func;
    wasmtime_module_delete(module);
    wasm_byte_vec_delete(&bytes);
    return row;
}

void wasmtime_row_delete(wasmtime_row *row)
{
    wasmtime_store_delete(row->store);
    wasm_engine_delete(row->engine);
    free(row);
}

static int64_t run_checked(wasmtime_row *row, enum row_kind kind, uint64_t times)
{
    wasm_trap_t *trap = NULL;
    wasmtime_val_t result = {.kind = WASMTIME_I64}, argument = {.kind = WASMTIME_I64};
    int64_t total = 0;
    switch (kind) {
    case ROW_NOP:
        while (times--) {
            wasmtime_error_t *error = wasmtime_func_call(row->context, &row->func, NULL, 0, NULL, 0, &trap);
            fine(error, trap);
        }
        break;
    case ROW_NUMBER:
        while (times--) {
            wasmtime_error_t *error = wasmtime_func_call(row->context, &row->func, NULL, 0, &result, 1, &trap);
            fine(error, trap);
            total += result.of.i64;
        }
        break;
    case ROW_LOOP:
        argument.of.i64 = (int64_t)times;
        wasmtime_error_t *error = wasmtime_func_call(row->context, &row->func, &argument, 1, &result, 1, &trap);
        fine(error, trap);
        total = result.of.i64;
    }
    return total;
}

int64_t wasmtime_row_run(wasmtime_row *row, enum row_kind kind, uint64_t times)
{
    if (row->checked)
        return run_checked(row, kind, times);
    wasm_trap_t *trap = NULL;
    wasmtime_val_raw_t value = {.i64 = (int64_t)times};
    int64_t total = 0;
    switch (kind) {
    case ROW_NOP:
        while (times--) {
            wasmtime_error_t *error = wasmtime_func_call_unchecked(row->context, &row->func, NULL, 0, &trap);
            fine(error, trap);
        }
        break;
    case ROW_NUMBER:
        while (times--) {
            wasmtime_error_t *error = wasmtime_func_call_unchecked(row->context, &row->func, &value, 1, &trap);
            fine(error, trap);
            total += value.i64;
        }
        break;
    case ROW_LOOP: {
        wasmtime_error_t *error = wasmtime_func_call_unchecked(row->context, &row->func, &value, 1, &trap);
        fine(error, trap);
        total = value.i64;
    }
    }
    return total;
}
