/* Keeps a program with a libc ready to be called once its main has returned: linked with --wrap=main.
 *
 * Behind main, exit would destroy what the program's functions use. So the program first tells its host, by a system call
 * of riverrun's own, that it is ready. A host that calls its functions stops it there, with everything alive. Where the
 * host does not know the call, it fails, and the program exits as ever.
 */

int __real_main(int, char **, char **) __attribute__((weak));
int fflush(void *) __attribute__((weak));

int __wrap_main(int argc, char **argv, char **environment)
{
    int status = __real_main ? __real_main(argc, argv, environment) : 0;
    /* What has been printed is out, whether the program goes on or not. */
    if (fflush)
        fflush(0);
    register long a0 __asm__("a0") = status;
    register long a7 __asm__("a7") = 505;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return status;
}
