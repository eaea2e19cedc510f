/* The interface in C does what it says. Arguments: the guest, an artifact of it or "". */
#include "check.h"
#include "registers.h"

static riverrun_error_t *game_add(void *data, riverrun_machine_t *caller, const riverrun_value_t *arguments, size_t len,
                                  riverrun_value_t *results, size_t results_len)
{
    (void)data, (void)caller;
    CHECK(len == 2 && results_len == 1 && arguments[0].kind == RIVERRUN_KIND_I32);
    CHECK(results[0].kind == RIVERRUN_KIND_I32);
    results[0].of.i32 = arguments[0].of.i32 + arguments[1].of.i32;
    return NULL;
}

static riverrun_error_t *game_score(void *data, riverrun_machine_t *caller, uint64_t *slots)
{
    int *score = riverrun_machine_data(caller);
    CHECK(data == score);
    *score += riverrun_slot_as_i32(slots[0]);
    slots[0] = riverrun_slot_i32(*score);
    return NULL;
}

static riverrun_error_t *floats(void *data, riverrun_machine_t *caller, const riverrun_value_t *arguments, size_t len,
                                riverrun_value_t *results, size_t results_len)
{
    (void)data, (void)caller, (void)len, (void)results_len;
    results[0].of.f64 = (double)arguments[0].of.f32 + arguments[1].of.f64 * arguments[2].of.i32;
    return NULL;
}

static riverrun_error_t *many(void *data, riverrun_machine_t *caller, uint64_t *slots)
{
    (void)data, (void)caller;
    int64_t sum = 0;
    for (int i = 0; i < 5; i++)
        sum = 10 * sum + riverrun_slot_as_i32(slots[i]);
    /* They are this function's own. */
    for (int i = 0; i < 5; i++)
        slots[i] = UINT64_MAX;
    slots[0] = riverrun_slot_i64(sum);
    return NULL;
}

static riverrun_error_t *stack(void *data, riverrun_machine_t *caller, uint64_t *slots)
{
    (void)data, (void)caller;
    int64_t sum = 0;
    for (int i = 0; i < 9; i++)
        sum += (i + 1) * riverrun_slot_as_i32(slots[i]);
    CHECK(riverrun_slot_as_f32(slots[9]) == 10.5f && riverrun_slot_as_i64(slots[10]) == -11);
    slots[0] = riverrun_slot_i64(sum);
    return NULL;
}

static riverrun_error_t *fail(void *data, riverrun_machine_t *caller, uint64_t *slots)
{
    (void)data, (void)caller;
    if (slots[0] == 0)
        return NULL;
    riverrun_error_t *error = riverrun_error_new("the host \"fails\", as it was told to");
    riverrun_error_set_data(error, &destroyed, destroy);
    return error;
}

/* Calls the guest back, which calls this again, down to 0. */
static riverrun_error_t *again(void *data, riverrun_machine_t *caller, uint64_t *slots)
{
    int32_t n = riverrun_slot_as_i32(slots[0]);
    if (n == 0)
        return NULL;
    riverrun_func_t **func = data;
    slots[0] = riverrun_slot_i32(n - 1);
    return riverrun_func_call_raw(*func, caller, slots, 1);
}

static riverrun_error_t *text(void *data, riverrun_machine_t *caller, uint64_t *slots)
{
    (void)data;
    const char *text;
    size_t len;
    static volatile double third = 1, three = 3;
    third = third / three;
    riverrun_error_t *error = riverrun_memory_string(caller, slots[0], 100, &text, &len);
    if (error || len == 0)
        return error;
    CHECK(len == 20 && memcmp(text, "hello from the guest", 21) == 0);
    slots[0] = len;
    return NULL;
}

static riverrun_func_t *func(riverrun_machine_t *machine, const char *name, const char *types)
{
    riverrun_func_t *func;
    FINE(riverrun_func_new(machine, name, types, &func));
    return func;
}

/* The inline fast path where there is one, whatever the compiler knows. */
static __attribute__((noinline)) riverrun_error_t *enter(const riverrun_func_t *func, riverrun_machine_t *machine,
                                                         uint64_t first, uint64_t second, uint64_t *result)
{
    riverrun_error_t *error;
    uint64_t slots[2] = {first, second};
    if (riverrun_func_enter(func, machine, first, second, 99, result, &error))
        return error;
    error = riverrun_func_call_raw(func, machine, slots, 2);
    *result = slots[0];
    return error;
}

static void calls(riverrun_machine_t *machine, int *score)
{
    riverrun_value_t values[11], result;
    riverrun_func_t *one = func(machine, "add", NULL);
    values[0] = riverrun_value_i32(40);
    values[1] = riverrun_value_i32(2);
    FINE(riverrun_func_call(one, machine, values, 2, &result, 1));
    CHECK(result.kind == RIVERRUN_KIND_I32 && result.of.i32 == 42);
    FINE(riverrun_func_call(one, machine, values, 2, values, 1));
    CHECK(values[0].kind == RIVERRUN_KIND_I32 && values[0].of.i32 == 42 && values[1].of.i32 == 2);
    values[0] = riverrun_value_i32(40);
    uint64_t slots[16] = {riverrun_slot_i32(-40), riverrun_slot_i32(-2)};
    FINE(riverrun_func_call_raw(one, machine, slots, 2));
    CHECK(riverrun_slot_as_i32(slots[0]) == -42 && riverrun_func_slots(one) == 2);
    for (int i = 0; i < 3; i++) {
        uint64_t sum;
        FINE(enter(one, machine, riverrun_slot_i32(-40), riverrun_slot_i32(8), &sum));
        CHECK(riverrun_slot_as_i32(sum) == -32);
    }
    uint64_t address = riverrun_func_address(one);
    riverrun_func_delete(one);
    FINE(riverrun_func_at(machine, address, "i32 (i32, i32)", &one));
    FINE(riverrun_func_call(one, machine, values, 2, &result, 1));
    CHECK(result.of.i32 == 42);
    riverrun_func_delete(one);

    one = func(machine, "half", "f32 (f32, i32)");
    values[0] = riverrun_value_f32(10);
    FINE(riverrun_func_call(one, machine, values, 2, &result, 1));
    CHECK(result.kind == RIVERRUN_KIND_F32 && result.of.f32 == 2.5f);
    riverrun_func_delete(one);

    one = func(machine, "is_odd", NULL);
    values[0].kind = RIVERRUN_KIND_U8;
    values[0].of.u8 = 255;
    FINE(riverrun_func_call(one, machine, values, 1, &result, 1));
    CHECK(result.kind == RIVERRUN_KIND_BOOL && result.of.boolean);
    riverrun_func_delete(one);

    one = func(machine, "stack", NULL);
    for (int i = 0; i < 9; i++)
        values[i] = riverrun_value_i32(i);
    values[9] = riverrun_value_f32(0.5f);
    values[10] = riverrun_value_f64(-0.25);
    FINE(riverrun_func_call(one, machine, values, 11, &result, 1));
    CHECK(result.of.f64 == 240.25);
    riverrun_func_delete(one);

    riverrun_value_t two[2];
    one = func(machine, "mixed", "{f64, i32} (f64, i32)");
    values[0] = riverrun_value_f64(1.5);
    values[1] = riverrun_value_i32(-8);
    FINE(riverrun_func_call(one, machine, values, 2, two, 2));
    CHECK(two[0].of.f64 == 3 && two[1].of.i32 == -7);
    riverrun_func_delete(one);
    one = func(machine, "packed", "{i16, i32} (i32, i32)");
    values[0] = riverrun_value_i32(-3);
    FINE(riverrun_func_call(one, machine, values, 2, two, 2));
    CHECK(two[0].kind == RIVERRUN_KIND_I16 && two[0].of.i16 == -3 && two[1].of.i32 == -8);
    slots[0] = riverrun_slot_i32(-5), slots[1] = riverrun_slot_i32(70000);
    FINE(riverrun_func_call_raw(one, machine, slots, 2));
    CHECK((int16_t)slots[0] == -5 && riverrun_slot_as_i32(slots[1]) == 70000);
    riverrun_func_delete(one);

    one = func(machine, "play", NULL);
    *score = 40;
    values[0] = riverrun_value_i32(2);
    FINE(riverrun_func_call(one, machine, values, 1, &result, 1));
    CHECK(result.of.i32 == 42 && *score == 42);
    riverrun_func_delete(one);

    one = func(machine, "floats", NULL);
    values[0] = riverrun_value_f32(0.5f);
    values[1] = riverrun_value_f64(4);
    values[2] = riverrun_value_i32(-2);
    FINE(riverrun_func_call(one, machine, values, 3, &result, 1));
    CHECK(result.of.f64 == -7.5);
    riverrun_func_delete(one);

    one = func(machine, "many", NULL);
    FINE(riverrun_func_call(one, machine, NULL, 0, &result, 1));
    CHECK(result.of.i64 == 8345);
    riverrun_func_delete(one);
    values[0] = riverrun_value_i32(0);
    one = func(machine, "kept", NULL);
    FINE(riverrun_func_call(one, machine, values, 1, &result, 1));
    CHECK(result.of.i64 == 62625);
    riverrun_func_delete(one);
    one = func(machine, "deep", NULL);
    FINE(riverrun_func_call(one, machine, values, 1, &result, 1));
    CHECK(result.of.i64 == 62626);
    riverrun_func_delete(one);
    one = func(machine, "stacked", NULL);
    FINE(riverrun_func_call(one, machine, NULL, 0, &result, 1));
    CHECK(result.of.i64 == 285);
    riverrun_func_delete(one);
    /* Guests that look do not see what the host does with floats. */
    riverrun_error_t *none = riverrun_func_new(machine, "flags", "i32 ()", &one);
    if (!none) {
        FINE(riverrun_func_call(one, machine, NULL, 0, &result, 1));
        CHECK(result.of.i32 == 0);
        riverrun_func_delete(one);
    }
    riverrun_error_delete(none);
    one = func(machine, "say", NULL);
    FINE(riverrun_func_call(one, machine, NULL, 0, &result, 1));
    CHECK(result.of.i32 == 20);
    riverrun_func_delete(one);
}

static void failures(riverrun_machine_t *machine)
{
    riverrun_value_t value = riverrun_value_i32(1), result;
    riverrun_func_t *one = func(machine, "fail", NULL);
    riverrun_error_t *error = riverrun_func_call(one, machine, &value, 1, &result, 1);
    CHECK(error && riverrun_error_kind(error) == RIVERRUN_ERROR_HOST && !riverrun_error_trap(error));
    const char *message = riverrun_error_message(error);
    CHECK(strstr(message, "the host function Test::fail failed: ") && strstr(message, "the host \"fails\""));
    CHECK(riverrun_error_data(error) == &destroyed && destroyed == 0);
    riverrun_frame_t frame;
    CHECK(riverrun_error_frames(error) >= 1 && riverrun_error_frame(error, 0, &frame));
    CHECK(strcmp(frame.function, "fail") == 0 && frame.pc != 0);
    CHECK(!riverrun_error_frame(error, riverrun_error_frames(error), &frame));
    riverrun_error_delete(error);
    CHECK(destroyed == 1);
    value = riverrun_value_i32(0);
    FINE(riverrun_func_call(one, machine, &value, 1, &result, 1));
    riverrun_func_delete(one);

    one = func(machine, "trap", NULL);
    error = riverrun_func_call(one, machine, NULL, 0, NULL, 0);
    CHECK(error && riverrun_error_kind(error) == RIVERRUN_ERROR_TRAP);
    const riverrun_trap_t *trap = riverrun_error_trap(error);
    CHECK(trap && trap->kind == RIVERRUN_TRAP_STORE_FAULT && trap->detail == 16 && trap->pc != 0);
    CHECK(strncmp(trap->function, "store", 5) == 0);
    CHECK(strstr(riverrun_error_message(error), "store to unmapped or read-only address 0x10 at pc 0x"));
    riverrun_error_delete(error);
    riverrun_func_delete(one);

    one = func(machine, "leave", NULL);
    value = riverrun_value_i32(3);
    error = riverrun_func_call(one, machine, &value, 1, NULL, 0);
    CHECK(error && riverrun_error_kind(error) == RIVERRUN_ERROR_EXITED && riverrun_error_exit_status(error) == 3);
    riverrun_error_delete(error);
    riverrun_func_delete(one);
}

/* Every way of calling, where the guest goes on in another engine, or fails, in the midst of it. */
static void ways_out(riverrun_machine_t *machine)
{
    riverrun_func_t *nop = func(machine, "nop", NULL), *rounded = func(machine, "rounded", NULL);
    riverrun_func_t *failing = func(machine, "fail", NULL);
    for (int way = 0; way < 3; way++) {
        for (int times = 0; times < 3; times++) {
            riverrun_value_t value = riverrun_value_i32(-5 - way), result = {RIVERRUN_KIND_BOOL, {0}};
            uint64_t slots[2] = {riverrun_slot_i32(-5 - way), 77};
            uint64_t first;
            /* So that the next one is not the first one. */
            FINE(riverrun_func_call_raw(nop, machine, NULL, 0));
            FINE(riverrun_func_call(nop, machine, NULL, 0, NULL, 0));
            switch (way) {
            case 0:
                FINE(riverrun_func_call(rounded, machine, &value, 1, &result, 1));
                CHECK(result.kind == RIVERRUN_KIND_I32 && result.of.i32 == -5);
                break;
            case 1:
                FINE(riverrun_func_call_raw(rounded, machine, slots, 1));
                CHECK(riverrun_slot_as_i32(slots[0]) == -6 && slots[1] == 77);
                break;
            default:
                FINE(enter(rounded, machine, slots[0], 1, &first));
                CHECK(riverrun_slot_as_i32(first) == -7);
            }
            FINE(riverrun_func_call_raw(nop, machine, NULL, 0));
            FINE(riverrun_func_call(nop, machine, NULL, 0, NULL, 0));
            riverrun_error_t *error;
            switch (way) {
            case 0:
                result.of.i32 = 33;
                error = riverrun_func_call(failing, machine, &value, 1, &result, 1);
                CHECK(result.kind == RIVERRUN_KIND_I32 && result.of.i32 == 33);
                break;
            case 1:
                error = riverrun_func_call_raw(failing, machine, slots, 1);
                CHECK(riverrun_slot_as_i32(slots[0]) == -6 && slots[1] == 77);
                break;
            default: error = enter(failing, machine, slots[0], 1, &first);
            }
            CHECK(error && riverrun_error_kind(error) == RIVERRUN_ERROR_HOST);
            riverrun_error_delete(error);
        }
    }
    riverrun_func_delete(nop);
    riverrun_func_delete(rounded);
    riverrun_func_delete(failing);
}

/* What a function of the guest does: returns, goes on in another engine, calls back into the guest, and ends by a host
   function, by a fault in itself or in another function, and by a limit. */
static const struct {
    const char *name;
    int32_t argument;
    bool returns;
} ends[] = {
    {"nop", 0, true},   {"rounded", 1, true}, {"again", 3, true},  {"fail", 0, true},
    {"fail", 1, false}, {"deep", 0, true},  {"deep", 1, false},  {"length", 16, false}, {"trap", 0, false}, {"spin", 0, false},
};

/* Each of them, by every way of calling: registers that functions preserve are as they were. */
static void preserved(riverrun_machine_t *machine)
{
    void (*const calls[])(void) = {(void (*)(void))riverrun_func_call, (void (*)(void))riverrun_func_call_raw,
                                   (void (*)(void))enter};
    riverrun_func_t *nop = func(machine, "nop", NULL);
    for (size_t end = 0; end < sizeof ends / sizeof *ends; end++) {
        riverrun_func_t *one = func(machine, ends[end].name, NULL);
        for (int i = 0; i < 12; i++) {
            riverrun_value_t value = riverrun_value_i32(ends[end].argument), result = {RIVERRUN_KIND_BOOL, {0}};
            if (strcmp(ends[end].name, "length") == 0)
                value = riverrun_value_ptr((uint64_t)ends[end].argument);
            uint64_t slot = riverrun_slot_i32(ends[end].argument), arguments[6] = {(uintptr_t)one, (uintptr_t)machine};
            uint64_t first;
            switch (i % 3) {
            case 0:
                arguments[2] = (uintptr_t)&value, arguments[3] = riverrun_func_parameters(one);
                arguments[4] = (uintptr_t)&result, arguments[5] = riverrun_func_results(one);
                break;
            case 1: arguments[2] = (uintptr_t)&slot, arguments[3] = 1; break;
            default: arguments[2] = slot, arguments[4] = (uintptr_t)&first;
            }
            if (strcmp(ends[end].name, "spin") == 0)
                FINE(riverrun_machine_set_timeout(machine, 5 * 1000 * 1000));
            /* So that it is not the first one, if the time is not over before. */
            for (int before = 0; before < 2; before++)
                riverrun_error_delete(riverrun_func_call_raw(nop, machine, NULL, 0));
            CHECK(preserves(calls[i % 3], arguments));
            FINE(riverrun_machine_set_timeout(machine, RIVERRUN_UNLIMITED));
            riverrun_error_t *error = (riverrun_error_t *)(uintptr_t)arguments[0];
            CHECK(!error == ends[end].returns);
            riverrun_error_delete(error);
        }
        riverrun_func_delete(one);
    }
    riverrun_func_delete(nop);
}

static void memory(riverrun_machine_t *machine)
{
    uint64_t address;
    FINE(riverrun_heap_allocate(machine, 16, 16, &address));
    CHECK(riverrun_heap_size(machine, address) == 16);
    int numbers[4] = {1, -2, 3, 4};
    FINE(riverrun_memory_write(machine, address, numbers, sizeof numbers));
    riverrun_func_t *one = func(machine, "twice", "void (ptr, u64)");
    uint64_t slots[2] = {address, 4};
    FINE(riverrun_func_call_raw(one, machine, slots, 2));
    FINE(riverrun_memory_read(machine, address, numbers, sizeof numbers));
    CHECK(numbers[0] == 2 && numbers[1] == -4 && numbers[3] == 8);
    riverrun_func_delete(one);

    uint8_t *view;
    FINE(riverrun_memory_view_mut(machine, address, 16, &view));
    memcpy(view, "four", 5);
    const uint8_t *same;
    FINE(riverrun_memory_view(machine, address, 16, &same));
    CHECK(same == view);
    one = func(machine, "length", NULL);
    riverrun_value_t value = riverrun_value_ptr(address), result;
    FINE(riverrun_func_call(one, machine, &value, 1, &result, 1));
    CHECK(result.of.i32 == 4);
    riverrun_func_delete(one);

    FINE(riverrun_heap_reallocate(machine, &address, 4000));
    FINE(riverrun_memory_view_mut(machine, address, 4000, &view));
    CHECK(strcmp((char *)view, "four") == 0);
    riverrun_heap_statistics_t statistics;
    FINE(riverrun_heap_statistics(machine, &statistics));
    CHECK(statistics.blocks == 1 && statistics.requested == 4000);
    FINE(riverrun_heap_give_to_guest(machine, address));
    FINE(riverrun_heap_take_from_guest(machine, address));
    FINE(riverrun_heap_free(machine, address));
    FAILS(riverrun_heap_free(machine, address), RIVERRUN_ERROR_HEAP, "has been freed before");

    FINE(riverrun_memory_map(machine, 0x200000, 0x1000, RIVERRUN_PERM_READ | RIVERRUN_PERM_WRITE));
    FINE(riverrun_memory_write(machine, 0x200000, "1234", 4));
    const char *string;
    FAILS(riverrun_memory_string(machine, 0x200000, 3, &string, NULL), RIVERRUN_ERROR_MEMORY, "no zero byte ends");
    FAILS(riverrun_memory_write(machine, 0x200ffe, "1234", 4), RIVERRUN_ERROR_MEMORY, "0x201000 is not mapped");
    FINE(riverrun_memory_protect(machine, 0x200000, 0x1000, RIVERRUN_PERM_READ));
    FAILS(riverrun_memory_write(machine, 0x200000, "1234", 4), RIVERRUN_ERROR_MEMORY, "0x200000 is not mapped");
    FAILS(riverrun_memory_map(machine, 0x200000, 0x1000, 4), RIVERRUN_ERROR_MISUSE, "permissions");
    FAILS(riverrun_memory_unmap(machine, 0x200000, 0), RIVERRUN_ERROR_MEMORY, "the range is empty");
    FINE(riverrun_memory_unmap(machine, 0x200000, 0x1000));
    CHECK(riverrun_memory_used(machine) > 0);
}

static void limits(riverrun_machine_t *machine)
{
    riverrun_func_t *one = func(machine, "spin", NULL);
    riverrun_limits_t limits = {RIVERRUN_UNLIMITED, 20 * 1000 * 1000};
    riverrun_error_t *error = riverrun_func_call_within(one, machine, &limits, NULL, 0, NULL, 0);
    CHECK(error && riverrun_error_trap(error) && riverrun_error_trap(error)->kind == RIVERRUN_TRAP_DEADLINE);
    riverrun_error_delete(error);

    riverrun_limits_t fuel = {10000, RIVERRUN_UNLIMITED};
    error = riverrun_func_call_raw_within(one, machine, &fuel, NULL, 0);
    CHECK(error && riverrun_error_trap(error) && riverrun_error_trap(error)->kind == RIVERRUN_TRAP_OUT_OF_FUEL);
    riverrun_error_delete(error);

    CHECK(riverrun_machine_fuel(machine) == RIVERRUN_UNLIMITED);
    FINE(riverrun_machine_set_fuel(machine, 5000));
    uint64_t before = riverrun_machine_instructions(machine);
    error = riverrun_func_call(one, machine, NULL, 0, NULL, 0);
    CHECK(error && riverrun_error_trap(error)->kind == RIVERRUN_TRAP_OUT_OF_FUEL);
    CHECK(riverrun_machine_fuel(machine) == 0 && riverrun_machine_instructions(machine) == before + 5000);
    riverrun_error_delete(error);
    FINE(riverrun_machine_set_fuel(machine, RIVERRUN_UNLIMITED));

    riverrun_interrupt_handle_t *handle = riverrun_interrupt_handle_new(machine);
    riverrun_interrupt_handle_interrupt(handle);
    error = riverrun_func_call(one, machine, NULL, 0, NULL, 0);
    CHECK(error && riverrun_error_trap(error)->kind == RIVERRUN_TRAP_INTERRUPTED);
    riverrun_error_delete(error);
    riverrun_interrupt_handle_delete(handle);
    FINE(riverrun_machine_set_timeout(machine, 20 * 1000 * 1000));
    error = riverrun_func_call(one, machine, NULL, 0, NULL, 0);
    CHECK(error && riverrun_error_trap(error)->kind == RIVERRUN_TRAP_DEADLINE);
    riverrun_error_delete(error);
    FINE(riverrun_machine_set_timeout(machine, RIVERRUN_UNLIMITED));
    riverrun_func_delete(one);
}

static void names(riverrun_program_t *program)
{
    riverrun_function_name_t name;
    size_t found = 0, exports = riverrun_program_exports(program);
    for (size_t i = 0; i < exports; i++) {
        CHECK(riverrun_program_export(program, i, &name));
        found += strcmp(name.name, "add") == 0 && strcmp(name.signature, "i32 (i32, i32)") == 0;
    }
    CHECK(found == 1 && !riverrun_program_export(program, exports, &name));
    /* With what the guest library measures long texts by. */
    size_t imports = riverrun_program_imports(program);
    CHECK(imports == 9 && !riverrun_program_import(program, imports, &name));
    found = 0;
    for (size_t i = 0; i < imports; i++) {
        CHECK(riverrun_program_import(program, i, &name));
        found += strcmp(name.name, "Game::add") == 0 && strcmp(name.signature, "i32 (i32, i32)") == 0;
    }
    CHECK(found == 1);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    riverrun_config_t *config = riverrun_config_new();
    riverrun_config_set_memory_limit(config, 64 << 20);
    riverrun_config_set_stack_size(config, 256 << 10);
    riverrun_config_set_call_depth(config, 16);
    riverrun_engine_t *engine;
    FINE(riverrun_engine_new(config, &engine));
    riverrun_config_delete(config);
    riverrun_program_t *program;
    FINE(riverrun_program_from_file(engine, argv[1], &program));
    if (*argv[2]) {
        riverrun_program_t *compiled;
        FINE(riverrun_program_with_artifact(program, argv[2], &compiled));
        riverrun_program_delete(program);
        program = compiled;
    }
    CHECK(riverrun_program_is_compiled(program) == (*argv[2] != 0));
    names(program);

    int score = 0, functions = 0;
    riverrun_func_t *again_func = NULL;
    riverrun_linker_t *linker;
    FINE(riverrun_linker_new(engine, &linker));
    riverrun_engine_delete(engine);
    FINE(riverrun_linker_func(linker, "Game::add", "i32 (i32, i32)", game_add, NULL, destroy));
    FINE(riverrun_linker_func_raw(linker, "Game::score", "i32 (i32)", game_score, &score, destroy));
    FINE(riverrun_linker_func(linker, "Test::floats", "f64 (f32, f64, i32)", floats, NULL, NULL));
    FINE(riverrun_linker_func_raw(linker, "Test::many", "i64 (i32, i32, i32, i32, i32)", many, NULL, NULL));
    FINE(riverrun_linker_func_raw(linker, "Test::stack",
                                        "i64 (i32, i32, i32, i32, i32, i32, i32, i32, i32, f32, i64)", stack, NULL,
                                        NULL));
    FINE(riverrun_linker_func_raw(linker, "Test::fail", "void (i32)", fail, NULL, NULL));
    FINE(riverrun_linker_func_raw(linker, "Test::again", "i32 (i32)", again, &again_func, NULL));
    FINE(riverrun_linker_func_raw(linker, "Test::text", "i32 (ptr)", text, NULL, NULL));
    FINE(riverrun_linker_syscall(linker, 500, "i32 (i32)", fail, NULL, destroy));
    FINE(riverrun_linker_add_heap(linker, 16 << 20));
    functions = 3;

    riverrun_machine_t *machine;
    FINE(riverrun_machine_new(linker, program, NULL, &machine));
    riverrun_linker_delete(linker);
    riverrun_program_delete(program);
    CHECK(destroyed == 0);
    FINE(riverrun_machine_set_data(machine, &score, destroy));

    int32_t status;
    CHECK(riverrun_machine_is_initializing(machine));
    riverrun_limits_t slice = {3, RIVERRUN_UNLIMITED};
    bool is_over = false;
    size_t slices = 0;
    for (status = -1; !is_over; slices++) {
        CHECK(status == -1);
        FINE(riverrun_machine_run_for(machine, &slice, &is_over, &status));
    }
    CHECK(slices > 1);
    CHECK(status == 7 && !riverrun_machine_is_initializing(machine));
    calls(machine, &score);
    memory(machine);
    destroyed = 0;
    failures(machine);
    ways_out(machine);

    again_func = func(machine, "again", NULL);
    riverrun_value_t value = riverrun_value_i32(10), result;
    FINE(riverrun_func_call(again_func, machine, &value, 1, &result, 1));
    CHECK(result.of.i32 == 11);
    value = riverrun_value_i32(100);
    FAILS(riverrun_func_call(again_func, machine, &value, 1, &result, 1), RIVERRUN_ERROR_HOST, "called each other");
    preserved(machine);
    riverrun_func_delete(again_func);
    limits(machine);

    destroyed = 0;
    riverrun_machine_delete(machine);
    CHECK(destroyed == functions + 1);
    return 0;
}
