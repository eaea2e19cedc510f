// What the snippets of the guide's page use.
#include <riverrun.hpp>

GUIDE 1

void set(riverrun::Linker &linker) { linker.trap_handler(pass_over); }
