/* What C++ needs of a runtime where exceptions and type information are off, for guests without a libc. */

/* Guests do not end in an orderly way: destructors of globals never run. */
void *__dso_handle = 0;

int __cxa_atexit(void (*destructor)(void *), void *object, void *library)
{
    (void)destructor, (void)object, (void)library;
    return 0;
}

/* A trap names the function that made it. */
void __cxa_pure_virtual(void)
{
    __builtin_trap();
}

void abort(void)
{
    __builtin_trap();
}
