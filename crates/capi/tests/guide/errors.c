/* What the snippets of the guide's page use. */
#include <riverrun.h>

riverrun_error_t *set(riverrun_linker_t *linker);

GUIDE 1

riverrun_error_t *set(riverrun_linker_t *linker)
{
    return riverrun_linker_set_trap_handler(linker, pass_over, NULL, NULL);
}
