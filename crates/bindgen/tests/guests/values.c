/* Calls every call of ../apis/game.json with arguments that the host knows, and checks the results.
   FORM(is_debug) is sys_is_debug, isys_is_debug or dsys_is_debug. */
#include "game.h"
#include <riverrun.h>

#define CHECK(condition)     \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

static void on_timer(int id, void *data)
{
    *(int *)data += id;
}

static void on_texture(Texture *texture, int size)
{
    (void)texture, (void)size;
}

/* `minus` is -1, which compilers do not know. */
static int numbers(int minus)
{
    CHECK(FORM(is_debug)() == -2);
    FORM(timer_stop)(minus * 7);
    FORM(breakpoint)((uint16_t)minus, "here");
    CHECK(FORM(gui_label)((unsigned)minus, "label") == 0xfffffffe);
    CHECK(FORM(many)(1, minus, 3, minus - 1, 5) == -5000000000);
    CHECK(FORM(eight)(1, 2, 3, 4, 5, 6, 7, minus) == 27);
    CHECK(FORM(narrow)((int8_t)(minus * 100), (uint8_t)(minus * 56), (int16_t)(minus * 30000), minus < 0, 'x') == -128);
    CHECK(FORM(stack)((char)minus, (short)minus, 3, 4, 5, 6, 7, 8, minus, minus - 1) == 285);
    FORM(odd)();
    FORM(empty)();
    return 0;
}

static int floats(int minus)
{
    Point a = {1.5f, (float)minus}, b = {0.25f, 3};
    CHECK(FORM(floats)(1, 2, 3, 4, 5, 6, 7, 8, (float)minus, a) == 37.5);
    CHECK(FORM(narrowed)(minus * 2.5) == -1.25f);
    CHECK(FORM(point_length)(a) == 0.5f);
    Point sum = FORM(point_add)(a, b);
    CHECK(sum.x == 1.75f && sum.y == 2);
    Handle handle = {(int8_t)minus, -10000000000};
    handle = FORM(handle_next)(handle);
    CHECK(handle.kind == -2 && handle.id == -9999999999);
    Mixed mixed = {0.5, (short)minus};
    mixed = FORM(mixed_scale)(mixed, 4);
    CHECK(mixed.weight == 2 && mixed.count == -2);
    return 0;
}

static int pointers(int minus)
{
    int seen = 0;
    CHECK(FORM(timer_periodic)(0.5f, (float)minus, on_timer, &seen, 3) == 30);
    CHECK(seen == 42);
    struct node last = {0, {1, 2, 3}}, first = {&last, {4, 5, 6}};
    CHECK((size_t)FORM(texture)(&first, on_texture) == 21);
    CHECK(FORM(texture)(0, 0) == 0);
    float m[4][4], by[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            m[i][j] = (float)(i + j);
            by[i][j] = i == j ? 2 : 0;
        }
    CHECK(!FORM(matrix_is_identity)(by[0]));
    FORM(matrix_multiply)(m, by);
    CHECK(m[3][3] == 12 && m[0][1] == 2);
    for (int i = 0; i < 4; i++)
        by[i][i] = 1;
    CHECK(FORM(matrix_is_identity)(by[0]));
    CHECK(FORM(sum)(m[3], 4) == 36);
    return 0;
}

RIVERRUN_EXPORT(int, values, (int));
RIVERRUN_EXPORT(void, retitle, (void));
RIVERRUN_EXPORT(bool, save, (void));

int values(int minus)
{
    int line;
    if ((line = numbers(minus)) || (line = floats(minus)) || (line = pointers(minus)))
        return line;
    return 0;
}

void retitle(void)
{
    FORM(set_title)("again");
}

bool save(void)
{
    TestData data = {1, 2, 3, 4, 5, 6};
    return FORM(world_save)(LARGE, &data);
}

int main(void)
{
    FORM(set_title)("a game");
    return 0;
}
