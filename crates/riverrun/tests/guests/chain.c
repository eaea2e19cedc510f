// Faults in several places of a chain of calls, above return addresses that earlier calls have left on the stack.

#define N __attribute__((noinline, noclone))

static volatile int sink;
static int *volatile nowhere = (int *)8;

N int leaf(int *p) { return *p + 1; }

N int touch(volatile char *bytes, int n)
{
    for (int i = 0; i < 256; i++)
        bytes[i] = n;
    return bytes[n & 255];
}

N int after_calls(int n)
{
    char bytes[256];
    int *p = nowhere;
    sink += touch(bytes, n);
    return *p + touch(bytes, n);
}

N int in_loop(int n)
{
    int s = 0;
    for (int i = 0; i < 1000; i++) {
        s += i ^ n;
        if (i == 900)
            s += *nowhere;
    }
    return s;
}

N int by_leaf(int n)
{
    char bytes[256];
    sink += touch(bytes, n);
    int r = leaf(nowhere);
    sink += r;
    return r + 1;
}

N int callback(int n) { return n + (sink > 3 ? *nowhere : 0); }

N int by_callback(int (*f)(int), int n)
{
    int r = f(n) + f(n + 1);
    sink += r;
    return r;
}

N int recurse(int n)
{
    if (n == 0)
        return leaf(nowhere);
    int r = recurse(n - 1);
    sink += r;
    return r + n;
}

N int leave_addresses(int depth)
{
    volatile long words[64];
    words[0] = depth;
    if (depth) {
        int r = leave_addresses(depth - 1);
        sink += r;
        return r + words[0];
    }
    return words[0];
}

N int middle(int which)
{
    int r = leave_addresses(5);
    sink += r + 4;
    switch (which) {
    case 0: r = leaf(nowhere); break;
    case 1: r = after_calls(which); break;
    case 2: r = in_loop(which); break;
    case 3: r = by_leaf(which); break;
    case 4: r = by_callback(callback, which); break;
    case 5: r = recurse(6); break;
    }
    sink += r;
    return r + 1;
}

int run(int which)
{
    int r = middle(which);
    sink += r;
    return r;
}

void _start(void)
{
    register int which asm("a0");
    register int result asm("a0") = run(which);
    asm volatile("li a7, 93\n ecall" : : "r"(result));
}
