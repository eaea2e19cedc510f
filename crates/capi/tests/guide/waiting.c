/* What the snippets of the guide's page use. */
#include <riverrun.h>

struct queue {
    int length;
};
void queue_push(struct queue *queue, int32_t points, riverrun_token_t *token);
void wake(void *loop);
void fine(riverrun_error_t *error);
void link_async(riverrun_linker_t *linker);
void play_async(riverrun_machine_t *machine, riverrun_func_t *play, int loop);

GUIDE 1

static struct queue queue;

void link_async(riverrun_linker_t *linker)
{
GUIDE 2
}

void play_async(riverrun_machine_t *machine, riverrun_func_t *play, int loop)
{
    riverrun_value_t points = riverrun_value_i32(1), result;
    riverrun_future_t *future;
    bool is_ready;
GUIDE 3
}
