// What the snippets of the guide's page use.
#include <riverrun.hpp>

void set(riverrun::Linker &linker)
{
GUIDE 1
}
