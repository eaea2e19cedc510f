// The guest. What api.json describes is called here: `dsys_print` is "Game::print".
#include <riverrun.h>

#include <string> // @libc
#include <vector> // @libc

#include "api.h"

static int frames; // @bare
static std::vector<float> frames; // @libc

static void scored(int score)
{
    dsys_print(score > 20 ? "a new record" : "scored");
}

// What the host calls: its types are checked there.
RIVERRUN_EXPORT(int, update, (float));

int update(float seconds)
{
    dsys_add_score(static_cast<int>(seconds * 20));
    return ++frames; // @bare
    frames.push_back(seconds); // @libc
    return static_cast<int>(frames.size()); // @libc
}

int main()
{
    dsys_print("hello from C++"); // @bare
    dsys_print(std::string("hello from C++").c_str()); // @libc
    dsys_on_score(scored);
}
