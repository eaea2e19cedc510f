/* Host functions that answer later. Argument: the guest, whose `play` calls Game::add and Game::score. */
#include "check.h"

#include <pthread.h>

#define MISUSE RIVERRUN_ERROR_MISUSE

/* What the host knows of the calls of Game::score. */
static struct {
    riverrun_token_t *token;
    riverrun_machine_t *machine;
    riverrun_future_t *future;
    int32_t points;
    enum { LATER, AT_ONCE, FAIL, DELETE_FUTURE, DELETE_MACHINE } does;
} game;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static int wakes;

static void wake(void *data)
{
    (void)data;
    pthread_mutex_lock(&lock);
    wakes++;
    pthread_cond_broadcast(&woken);
    pthread_mutex_unlock(&lock);
}

static int wakes_since(void)
{
    pthread_mutex_lock(&lock);
    int since = wakes;
    wakes = 0;
    pthread_mutex_unlock(&lock);
    return since;
}

static void wait_for_wake(void)
{
    pthread_mutex_lock(&lock);
    while (wakes == 0)
        pthread_cond_wait(&woken, &lock);
    wakes = 0;
    pthread_mutex_unlock(&lock);
}

static riverrun_error_t *add(void *data, riverrun_machine_t *caller, const riverrun_value_t *arguments, size_t len,
                             riverrun_value_t *results, size_t results_len)
{
    (void)data, (void)caller, (void)len, (void)results_len;
    results[0].of.i32 = arguments[0].of.i32 + arguments[1].of.i32;
    return NULL;
}

static riverrun_error_t *score(void *data, riverrun_machine_t *caller, const riverrun_value_t *arguments, size_t len,
                               riverrun_token_t *token)
{
    (void)data;
    CHECK(len == 1 && arguments[0].kind == RIVERRUN_KIND_I32);
    CHECK(riverrun_token_is_awaited(token));
    game.points = arguments[0].of.i32;
    game.machine = caller;
    game.token = token;
    riverrun_value_t answer = riverrun_value_i32(7);
    bool is_ready;
    int32_t status;
    switch (game.does) {
    case AT_ONCE:
        FINE(riverrun_token_complete(token, &answer, 1));
        break;
    case FAIL:
        return riverrun_error_new("no scores today");
    case DELETE_FUTURE:
        FAILS(riverrun_future_poll(game.future, &is_ready), MISUSE, "being polled");
        FAILS(riverrun_machine_run(caller, &status), MISUSE, "the machine is running");
        riverrun_future_delete(game.future);
        break;
    default:
        break;
    }
    return NULL;
}

static int32_t result_of(riverrun_future_t *future)
{
    riverrun_value_t result;
    FINE(riverrun_future_results(future, &result, 1));
    CHECK(result.kind == RIVERRUN_KIND_I32);
    return result.of.i32;
}

static bool poll(riverrun_future_t *future)
{
    bool is_ready = false;
    FINE(riverrun_future_poll(future, &is_ready));
    return is_ready;
}

/* Polls until the guest waits for Game::score: its turn may end before. */
static bool waits(riverrun_future_t *future)
{
    do
        CHECK(!poll(future));
    while (!game.token);
    return true;
}

static bool ends(riverrun_future_t *future)
{
    while (!poll(future))
        continue;
    return true;
}

/* Polls until the call fails. */
static riverrun_error_t *error_of(riverrun_future_t *future)
{
    riverrun_error_t *error;
    bool is_ready = false;
    do
        error = riverrun_future_poll(future, &is_ready);
    while (!error && !is_ready);
    return error;
}

/* Begins a call of `play`. */
static riverrun_future_t *begin(riverrun_func_t *play, riverrun_machine_t *machine, int32_t points)
{
    riverrun_value_t argument = riverrun_value_i32(points);
    FINE(riverrun_func_call_async(play, machine, &argument, 1, &game.future));
    return game.future;
}

static riverrun_token_t *take_token(void)
{
    riverrun_token_t *token = game.token;
    CHECK(token);
    game.token = NULL;
    return token;
}

static void answers(riverrun_func_t *play, riverrun_machine_t *machine)
{
    riverrun_value_t answer = riverrun_value_i32(42);
    FINE(riverrun_machine_set_fuel(machine, 1000000));
    uint64_t before = riverrun_machine_instructions(machine);
    riverrun_future_t *future = begin(play, machine, 3);
    FINE(riverrun_future_set_waker(future, wake, NULL, destroy));
    CHECK(waits(future) && game.points == 3 && game.machine == machine);
    /* What the guest has used so far, though it has not ended. */
    uint64_t executed = riverrun_machine_instructions(machine) - before;
    CHECK(executed > 0 && riverrun_machine_fuel(machine) == 1000000 - executed && riverrun_machine_pc(machine) != 0);
    wakes_since();
    CHECK(!poll(future) && wakes_since() == 0);
    riverrun_token_t *token = take_token();
    FINE(riverrun_token_complete(token, &answer, 1));
    CHECK(wakes_since() == 1 && !riverrun_token_is_awaited(token));
    CHECK(ends(future) && result_of(future) == 42);
    riverrun_token_delete(token);
    riverrun_future_delete(future);
    CHECK(destroyed == 1);
    FINE(riverrun_machine_set_fuel(machine, RIVERRUN_UNLIMITED));

    game.does = AT_ONCE;
    future = begin(play, machine, 4);
    CHECK(ends(future) && game.points == 4 && result_of(future) == 7);
    riverrun_token_delete(take_token());
    riverrun_future_delete(future);
    game.does = LATER;
}

static void *complete(void *token)
{
    riverrun_value_t answer = riverrun_value_i32(1000);
    FINE(riverrun_token_complete(token, &answer, 1));
    riverrun_token_delete(token);
    return NULL;
}

/* An executor: polls where it is told to. */
static void other_threads_answer(riverrun_func_t *play, riverrun_machine_t *machine)
{
    for (int n = 0; n < 100; n++) {
        riverrun_future_t *future = begin(play, machine, n);
        FINE(riverrun_future_set_waker(future, wake, NULL, NULL));
        CHECK(waits(future));
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, complete, take_token()) == 0);
        do {
            wait_for_wake();
        } while (!poll(future));
        CHECK(result_of(future) == 1000 && game.points == n);
        riverrun_future_delete(future);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

static void failures(riverrun_func_t *play, riverrun_machine_t *machine)
{
    bool is_ready;
    riverrun_value_t argument = riverrun_value_i32(1), result;
    FAILS(riverrun_func_call(play, machine, &argument, 1, &result, 1), RIVERRUN_ERROR_HOST, "async");

    riverrun_future_t *future = begin(play, machine, 1);
    CHECK(waits(future));
    riverrun_token_t *token = take_token();
    FINE(riverrun_token_fail(token, riverrun_error_new("the data base is away")));
    FAILS(riverrun_future_poll(future, &is_ready), RIVERRUN_ERROR_HOST, "the data base is away");
    FAILS(riverrun_future_poll(future, &is_ready), MISUSE, "the future is over");
    riverrun_token_delete(token);
    riverrun_future_delete(future);

    future = begin(play, machine, 1);
    CHECK(waits(future));
    riverrun_token_delete(take_token());
    FAILS(riverrun_future_poll(future, &is_ready), RIVERRUN_ERROR_HOST, "its token was deleted");
    riverrun_future_delete(future);

    game.does = FAIL;
    future = begin(play, machine, 1);
    FAILS(error_of(future), RIVERRUN_ERROR_HOST, "no scores today");
    CHECK(!riverrun_token_is_awaited(game.token));
    riverrun_token_delete(take_token());
    riverrun_future_delete(future);
    game.does = LATER;

    /* A deadline ends a call that waits, and wakes it. */
    FINE(riverrun_machine_set_timeout(machine, 200000000));
    future = begin(play, machine, 1);
    FINE(riverrun_future_set_waker(future, wake, NULL, NULL));
    CHECK(waits(future));
    riverrun_error_t *error;
    do {
        wait_for_wake();
        error = riverrun_future_poll(future, &is_ready);
    } while (!error && !is_ready);
    FAILS(error, RIVERRUN_ERROR_TRAP, "deadline");
    riverrun_token_delete(take_token());
    riverrun_future_delete(future);
    FINE(riverrun_machine_set_timeout(machine, RIVERRUN_UNLIMITED));
}

static void misuse(riverrun_func_t *play, riverrun_machine_t *machine)
{
    bool is_ready;
    int32_t status;
    riverrun_value_t argument = riverrun_value_i32(5), answer = riverrun_value_i32(6), wrong = riverrun_value_i64(6);
    riverrun_value_t results[2] = {answer, answer};
    riverrun_future_t *future = begin(play, machine, 5), *second;
    FAILS(riverrun_future_results(future, results, 1), MISUSE, "not ready");
    FAILS(riverrun_func_call_async(play, machine, &argument, 1, &second), MISUSE, "has a future");
    FAILS(riverrun_machine_run_async(machine, &second), MISUSE, "has a future");
    FAILS(riverrun_machine_run(machine, &status), MISUSE, "has a future");
    FAILS(riverrun_machine_set_pc(machine, 4), MISUSE, "has a future");
    CHECK(waits(future));
    FAILS(riverrun_machine_run(machine, &status), MISUSE, "has a future");
    riverrun_token_t *token = take_token();
    FAILS(riverrun_token_complete(token, NULL, 0), MISUSE, "results");
    FAILS(riverrun_token_complete(token, results, 2), MISUSE, "results");
    FAILS(riverrun_token_complete(token, &wrong, 1), MISUSE, "result");
    CHECK(!poll(future) && riverrun_token_is_awaited(token));
    FINE(riverrun_token_complete(token, &answer, 1));
    FAILS(riverrun_token_complete(token, &answer, 1), MISUSE, "completed before");
    FAILS(riverrun_token_fail(token, riverrun_error_new("too late")), MISUSE, "completed before");
    CHECK(ends(future) && result_of(future) == 6);
    FAILS(riverrun_future_results(future, results, 2), MISUSE, "results");
    FAILS(riverrun_future_poll(future, &is_ready), MISUSE, "the future is over");
    FAILS(riverrun_token_complete(token, &answer, 1), MISUSE, "completed before");
    riverrun_token_delete(token);
    riverrun_future_delete(future);

    /* A call that is given up: its answer has no effect. */
    future = begin(play, machine, 5);
    CHECK(waits(future));
    riverrun_future_delete(future);
    token = take_token();
    CHECK(!riverrun_token_is_awaited(token));
    FINE(riverrun_token_complete(token, &answer, 1));
    FAILS(riverrun_token_complete(token, &answer, 1), MISUSE, "completed before");
    riverrun_token_delete(token);

    /* A host function that deletes the future that polls it: the call is given up once that returns. */
    game.does = DELETE_FUTURE;
    future = begin(play, machine, 5);
    CHECK(waits(future) && !riverrun_token_is_awaited(game.token));
    riverrun_token_delete(take_token());
    game.does = LATER;

    FAILS(riverrun_token_complete(NULL, &answer, 1), MISUSE, "`token` is NULL");
    FAILS(riverrun_token_fail(NULL, riverrun_error_new("")), MISUSE, "`token` is NULL");
    FAILS(riverrun_future_poll(NULL, &is_ready), MISUSE, "`future` is NULL");
    FAILS(riverrun_future_results(NULL, NULL, 0), MISUSE, "`future` is NULL");
    FAILS(riverrun_future_set_waker(NULL, wake, NULL, destroy), MISUSE, "`future` is NULL");
    FAILS(riverrun_machine_run_async(NULL, &second), MISUSE, "`machine` is NULL");
    FAILS(riverrun_machine_run_async(machine, NULL), MISUSE, "`future` is NULL");
    FAILS(riverrun_func_call_async(play, machine, NULL, 0, &second), MISUSE, "arguments");
    riverrun_future_delete(NULL);
    riverrun_token_delete(NULL);
    CHECK(!riverrun_token_is_awaited(NULL));
}

/* The machine is gone before the call has ended. */
static void machine_is_deleted(riverrun_func_t *play, riverrun_machine_t *machine)
{
    bool is_ready;
    riverrun_value_t answer = riverrun_value_i32(6);
    riverrun_future_t *future = begin(play, machine, 5);
    CHECK(waits(future));
    riverrun_machine_delete(machine);
    riverrun_token_t *token = take_token();
    CHECK(!riverrun_token_is_awaited(token));
    FAILS(riverrun_future_poll(future, &is_ready), MISUSE, "the future is over");
    FINE(riverrun_token_complete(token, &answer, 1));
    riverrun_token_delete(token);
    riverrun_future_delete(future);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    riverrun_engine_t *engine;
    riverrun_linker_t *linker;
    riverrun_program_t *program;
    riverrun_machine_t *machine;
    riverrun_func_t *play;
    load(argv[1], &engine, &program);
    FINE(riverrun_linker_new(engine, &linker));
    FINE(riverrun_linker_func(linker, "Game::add", "i32 (i32, i32)", add, NULL, NULL));
    FAILS(riverrun_linker_func_async(linker, "Game::score", "i32 (i32)", NULL, NULL, NULL), MISUSE, "`function` is NULL");
    FINE(riverrun_linker_func_async(linker, "Game::score", "i32 (i32)", score, NULL, NULL));
    FINE(riverrun_machine_new(linker, program, NULL, &machine));
    FINE(riverrun_func_new(machine, "play", NULL, &play));
    for (int n = 0; n < 3; n++) {
        destroyed = 0;
        answers(play, machine);
        other_threads_answer(play, machine);
        failures(play, machine);
        misuse(play, machine);
    }
    machine_is_deleted(play, machine);
    riverrun_func_delete(play);
    riverrun_linker_delete(linker);
    riverrun_program_delete(program);
    riverrun_engine_delete(engine);
    return 0;
}
