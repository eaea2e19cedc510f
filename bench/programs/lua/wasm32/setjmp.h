// Stands in for the setjmp.h that WASI lacks: a Lua whose errors abort, for a script that raises none.
#define LUAI_THROW(L, c) __builtin_trap()
#define LUAI_TRY(L, c, a) { a }
#define luai_jmpbuf int
