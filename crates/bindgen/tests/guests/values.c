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

/* Structs by value. In C, signatures are given. */
#ifdef __cplusplus
#define BY_VALUE(result, name, parameters, signature) RIVERRUN_EXPORT(result, name, parameters)
#else
#define BY_VALUE(result, name, parameters, signature) \
    result name parameters;                           \
    RIVERRUN_EXPORT_SIGNATURE(signature, name)
#endif

typedef struct { Point at; } Place;
typedef struct { float of[2]; } Pair;
typedef struct { float x, y, z; } Vector;
typedef struct { float weight; const char *name; } Named;

BY_VALUE(Point, turned, (Point, int), "{f32, f32} (f32, f32, i32)");
BY_VALUE(Place, swapped, (Pair), "{f32, f32} (f32, f32)");
BY_VALUE(Handle, next, (Handle), "{u64, u64} (u64, u64)");
BY_VALUE(Mixed, scaled, (Mixed, double), "{f64, i16} (f64, i16, f64)");
BY_VALUE(Vector, negated, (Vector), "{u64, u64} (u64, u64)");
BY_VALUE(Named, renamed, (Named), "{u64, u64} (u64, u64)");
BY_VALUE(double, crowded, (float, float, float, float, float, float, float, Point, long, long, long, long, long, Mixed, Handle, float),
         "f64 (f32, f32, f32, f32, f32, f32, f32, u64, i64, i64, i64, i64, i64, f64, i16, u64, u64, f32)");
BY_VALUE(double, behind, (long, long, long, long, long, long, long, long, long, Point, Mixed),
         "f64 (i64, i64, i64, i64, i64, i64, i64, i64, i64, f32, f32, u64, u64)");

Point turned(Point p, int times)
{
    while (times--) {
        Point q = {-p.y, p.x};
        p = q;
    }
    return p;
}

Place swapped(Pair p)
{
    Place q = {{p.of[1], p.of[0]}};
    return q;
}

Handle next(Handle h)
{
    Handle n = {(int8_t)(h.kind - 1), h.id + 1};
    return n;
}

Mixed scaled(Mixed m, double by)
{
    Mixed n = {m.weight * by, (short)(m.count * 2)};
    return n;
}

Vector negated(Vector v)
{
    Vector n = {-v.x, -v.y, -v.z};
    return n;
}

Named renamed(Named n)
{
    n.name += 1;
    n.weight += 1;
    return n;
}

/* One float register is left for two floats, two integer registers for a Mixed, of which a float takes one; and then
   one for a Handle, the rest of which is on the stack. */
double crowded(float a, float b, float c, float d, float e, float f, float g, Point p, long h, long i, long j, long k,
               long l, Mixed m, Handle n, float last)
{
    return a + b + c + d + e + f + g + p.x * p.y + (double)(h + i + j + k + l) + m.weight * m.count +
           (double)(n.kind * n.id) + last;
}

/* All integer registers are taken: floats have theirs, a Mixed is on the stack. */
double behind(long a, long b, long c, long d, long e, long f, long g, long h, long i, Point p, Mixed m)
{
    return (double)(a + b + c + d + e + f + g + h + i) + p.x * p.y + m.weight * m.count;
}

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
