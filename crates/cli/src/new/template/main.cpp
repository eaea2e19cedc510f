// The guest. What api.json describes is called here: `dsys_print` is "Game::print".
#include <riverrun.h>

#include "api.h"

static int frames;

static void scored(int score)
{
    dsys_print(score > 20 ? "a new record" : "scored");
}

// What the host calls: its types are checked there.
RIVERRUN_EXPORT(int, update, (float));

int update(float seconds)
{
    dsys_add_score(static_cast<int>(seconds * 20));
    return ++frames;
}

int main()
{
    dsys_print("hello from C++");
    dsys_on_score(scored);
}
