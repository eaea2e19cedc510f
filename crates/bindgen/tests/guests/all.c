/* Uses every call of ../apis/game.json in every form. */
#include "game.h"
#include <riverrun.h>

RIVERRUN_EXPORT(long, all, (int, void *));

#define EACH(form)                                                                                         \
    form##sys_set_title((const char *)p);                                                                  \
    form##sys_game_exit();                                                                                 \
    form##sys_timer_stop(n);                                                                               \
    sum += form##sys_timer_periodic(1, 2, (timer_callback)0, p, sizeof(sum));                              \
    form##sys_breakpoint(1, "here");                                                                       \
    sum += form##sys_is_debug();                                                                           \
    sum += form##sys_gui_label(7, "label");                                                                \
    sum += form##sys_world_save(LARGE, (const TestData *)p);                                               \
    sum += (long)form##sys_texture((struct node *)p, 0);                                                   \
    sum += (long)form##sys_point_length(point);                                                            \
    point = form##sys_point_add(point, point);                                                             \
    handle = form##sys_handle_next(handle);                                                                \
    mixed = form##sys_mixed_scale(mixed, 2);                                                               \
    form##sys_matrix_multiply(m, m);                                                                       \
    sum += form##sys_matrix_is_identity(m[0]);                                                             \
    sum += (long)form##sys_sum(m[0], 16);                                                                  \
    sum += form##sys_many(1, 2, 3, 4, 5);                                                                  \
    sum += form##sys_stack('a', 2, 3, 4, 5, 6, 7, 8, 9, 10);                                               \
    sum += form##sys_eight(1, 2, 3, 4, 5, 6, 7, n);                                                        \
    sum += (long)form##sys_floats(1, 2, 3, 4, 5, 6, 7, 8, 9, point);                                       \
    sum += (long)form##sys_narrowed(1);                                                                    \
    sum += form##sys_narrow(-1, 2, -3, true, 'x');                                                         \
    form##sys_odd();                                                                                       \
    form##sys_empty();

long all(int n, void *p)
{
    long sum = 0;
    Point point = {1, 2};
    Handle handle = {1, 2};
    Mixed mixed = {1, 2};
    float m[16][4] = {{0}};
    EACH()
    EACH(i)
    EACH(d)
    return sum + (long)point.x + handle.id + mixed.count;
}

int main(void)
{
    return 0;
}
