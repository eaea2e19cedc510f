/* The guest of the hosts in this folder. */
#include "api.h"
#include <riverrun.h>

RIVERRUN_EXPORT(int, update, (float, int));

int update(float seconds, int score)
{
    if (score < 0)
        __builtin_trap(); /* The host goes on. */
    dsys_print("updating");
    return dsys_add(score, (int)(seconds * 10));
}
