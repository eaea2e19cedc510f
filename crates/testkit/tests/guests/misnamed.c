/* A function that has the name of C's memset, and does something else: exits with 0 if it is called as it is. */

__attribute__((noinline, used)) static int memset(int *words, int word, long count)
{
    for (long i = 0; i < count; i++)
        words[i] = word;
    return 7;
}

static int words[20];
static volatile long count = 20;

void _start(void)
{
    int result = memset(words, 0x01020304, count);
    register long status __asm__("a0") = result != 7 || words[0] != 0x01020304 || words[19] != 0x01020304;
    register long number __asm__("a7") = 93;
    __asm__ volatile("ecall" : : "r"(status), "r"(number));
}
