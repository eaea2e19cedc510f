/* The host decides how a guest goes on after a trap. Argument: the guest, whose `trap` stores a zero word at address 16. */
#include "check.h"

/* What the handler has seen, and does. */
static struct {
    riverrun_trap_t trap;
    int times;
    uint64_t address, result;
    riverrun_func_t *nested;
    enum { NOTHING, MOVE, SKIP, LEAVE, FAIL, NONSENSE, MISUSE } does;
} host;

static riverrun_error_t *handler(void *data, riverrun_machine_t *caller, const riverrun_trap_t *trap,
                                 riverrun_flow_t *flow)
{
    CHECK(data == &host && flow->kind == RIVERRUN_FLOW_TRAP && trap->function == NULL);
    CHECK(riverrun_machine_pc(caller) == trap->pc);
    uint64_t *registers = riverrun_machine_registers(caller);
    host.trap = *trap;
    host.times++;
    switch (host.does) {
    case NOTHING: break;
    case MOVE:
        /* The compiler has chosen in which register the address is. */
        for (int x = 1; x < 32; x++)
            if (registers[x] == trap->detail)
                registers[x] = host.address;
        flow->kind = RIVERRUN_FLOW_CONTINUE;
        break;
    case SKIP: {
        /* The guest's functions can be called meanwhile. */
        uint64_t slots[2] = {riverrun_slot_i32(40), riverrun_slot_i32(2)};
        FINE(riverrun_func_call_raw(host.nested, caller, slots, 2));
        host.result = slots[0];
        flow->kind = RIVERRUN_FLOW_JUMP;
        flow->address = trap->pc + 4;
        break;
    }
    case LEAVE:
        flow->kind = RIVERRUN_FLOW_EXIT;
        flow->status = -3;
        break;
    case FAIL: return riverrun_error_new("no trap is wanted here");
    case NONSENSE: flow->kind = (riverrun_flow_kind_t)77; break;
    case MISUSE: {
        int32_t status;
        FAILS(riverrun_machine_run(caller, &status), RIVERRUN_ERROR_MISUSE, "the machine is running");
    }
    }
    return NULL;
}

static riverrun_error_t *nothing(void *data, riverrun_machine_t *caller, uint64_t *slots)
{
    (void)data, (void)caller, (void)slots;
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    riverrun_engine_t *engine;
    riverrun_program_t *program;
    riverrun_linker_t *linker;
    riverrun_machine_t *machine;
    load(argv[1], &engine, &program);
    FINE(riverrun_linker_new(engine, &linker));
    riverrun_function_name_t import;
    for (size_t i = 0; riverrun_program_import(program, i, &import); i++)
        if (strncmp(import.name, "riverrun::", 10) != 0)
            FINE(riverrun_linker_func_raw(linker, import.name, import.signature, nothing, NULL, NULL));
    FINE(riverrun_linker_add_heap(linker, RIVERRUN_UNLIMITED));
    FAILS(riverrun_linker_set_trap_handler(NULL, handler, NULL, destroy), RIVERRUN_ERROR_MISUSE, "`linker` is NULL");
    FAILS(riverrun_linker_set_trap_handler(linker, NULL, NULL, destroy), RIVERRUN_ERROR_MISUSE, "`handler` is NULL");
    CHECK(destroyed == 2);
    FINE(riverrun_linker_set_trap_handler(linker, handler, &host, destroy));
    FINE(riverrun_machine_new(linker, program, NULL, &machine));
    riverrun_linker_delete(linker);
    int32_t status;
    FINE(riverrun_machine_run(machine, &status));

    riverrun_func_t *trap;
    FINE(riverrun_func_new(machine, "trap", NULL, &trap));
    FINE(riverrun_func_new(machine, "add", NULL, &host.nested));
    FAILS(riverrun_func_call_raw(trap, machine, NULL, 0), RIVERRUN_ERROR_TRAP, "address 0x10");
    CHECK(host.times == 1 && host.trap.kind == RIVERRUN_TRAP_STORE_FAULT && host.trap.detail == 16);

    uint32_t word = 5;
    FINE(riverrun_heap_allocate(machine, 4, 4, &host.address));
    FINE(riverrun_memory_write(machine, host.address, &word, sizeof word));
    host.does = MOVE;
    FINE(riverrun_func_call_raw(trap, machine, NULL, 0));
    FINE(riverrun_memory_read(machine, host.address, &word, sizeof word));
    CHECK(word == 0 && host.times == 2);

    host.does = SKIP;
    FINE(riverrun_func_call_raw(trap, machine, NULL, 0));
    CHECK(host.times == 3 && host.result == 42);

    host.does = LEAVE;
    riverrun_error_t *error = riverrun_func_call_raw(trap, machine, NULL, 0);
    CHECK(riverrun_error_kind(error) == RIVERRUN_ERROR_EXITED && riverrun_error_exit_status(error) == -3);
    riverrun_error_delete(error);

    host.does = FAIL;
    FAILS(riverrun_func_call_raw(trap, machine, NULL, 0), RIVERRUN_ERROR_HOST, "handler of the trap failed: no trap");
    host.does = NONSENSE;
    FAILS(riverrun_func_call_raw(trap, machine, NULL, 0), RIVERRUN_ERROR_HOST, "`flow->kind` is 77");
    host.does = MISUSE;
    FAILS(riverrun_func_call_raw(trap, machine, NULL, 0), RIVERRUN_ERROR_TRAP, "address 0x10");

    /* A guest that only traps uses its fuel up. The end of a limit is no trap of the guest. */
    host.does = MOVE;
    host.address = 16;
    host.times = 0;
    riverrun_limits_t limits = {1000, RIVERRUN_UNLIMITED};
    error = riverrun_func_call_raw_within(trap, machine, &limits, NULL, 0);
    CHECK(error && riverrun_error_trap(error)->kind == RIVERRUN_TRAP_OUT_OF_FUEL);
    CHECK(host.times > 900 && host.times <= 1000 && host.trap.kind == RIVERRUN_TRAP_STORE_FAULT);
    riverrun_error_delete(error);

    riverrun_func_delete(host.nested);
    riverrun_func_delete(trap);
    riverrun_program_delete(program);
    riverrun_engine_delete(engine);
    CHECK(destroyed == 2);
    riverrun_machine_delete(machine);
    CHECK(destroyed == 3);
    return 0;
}
