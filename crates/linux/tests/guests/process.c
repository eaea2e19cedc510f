// Identity, limits, clocks, and what the start code was told.
#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "show.h"

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) printf("argument %d: <%s>\n", i, argv[i]);
    printf("%s <%s> %d\n", getenv("TEST_A"), getenv("TEST_B"), getenv("TEST_C") == NULL);
    printf("%ld %ld\n", getauxval(AT_PAGESZ), getauxval(AT_CLKTCK));
    printf("%d %d %d\n", getauxval(AT_SECURE) == 0, getauxval(AT_RANDOM) != 0, getauxval(AT_UID) == getuid());
    printf("hwcap has imafdc: %d\n", (getauxval(AT_HWCAP) & 0x112d) == 0x112d);
    printf("entry known: %d, headers known: %d\n", getauxval(AT_ENTRY) != 0, getauxval(AT_PHDR) != 0);
    printf("%d\n", ((char *)getauxval(AT_EXECFN))[0] != 0);
    printf("aligned: %d\n", (unsigned long)__builtin_frame_address(0) % 16 == 0);

    printf("%d %d %d\n", getpid() > 0, getpid() == gettid(), getppid() > 0);
    printf("%d %d\n", getuid() == geteuid(), getgid() == getegid());
    SHOW(getpgid(0) > 0);
    struct utsname name;
    SHOW(uname(&name));
    printf("%s %s\n", name.sysname, name.machine);
    struct rlimit limit;
    SHOW(getrlimit(RLIMIT_NOFILE, &limit));
    printf("%d\n", limit.rlim_cur >= 256);
    SHOW(getrlimit(RLIMIT_STACK, &limit));
    printf("%d\n", limit.rlim_cur >= 65536);
    SHOW(getrlimit(99, &limit));
    struct rusage usage;
    SHOW(getrusage(RUSAGE_SELF, &usage));
    SHOW(getrusage(99, &usage));
    struct sysinfo info;
    SHOW(sysinfo(&info));
    printf("%d\n", info.totalram >= info.freeram && info.mem_unit > 0);
    SHOW(prctl(PR_SET_NAME, "a name that is long"));
    char own[16];
    SHOW(prctl(PR_GET_NAME, own));
    printf("%s\n", own);
    cpu_set_t processors;
    SHOW(sched_getaffinity(0, sizeof processors, &processors) >= 0);
    printf("%d\n", CPU_COUNT(&processors) >= 1);
    SHOW(sched_yield());
    SHOW(waitpid(-1, NULL, 0));

    char bytes[300] = "";
    SHOW(getrandom(bytes, sizeof bytes, 0));
    SHOW(getrandom(bytes, 1, 0xff));
    int different = 0;
    for (int i = 1; i < 300; i++) different += bytes[i] != bytes[i - 1];
    printf("%d\n", different > 100);

    struct timespec span = {0, 20000000}, wrong = {0, 1000000000};
    double before = now(CLOCK_MONOTONIC);
    SHOW(nanosleep(&span, NULL));
    double slept = now(CLOCK_MONOTONIC) - before;
    printf("%d\n", slept >= 0.02 && slept < 1);
    SHOW(nanosleep(&wrong, NULL));
    clock_gettime(CLOCK_MONOTONIC, &span);
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &span, NULL));
    SHOW(clock_gettime(99, &span));
    SHOW(clock_getres(CLOCK_REALTIME, &span));
    printf("%d\n", now(CLOCK_REALTIME) > 1.6e9 && now(CLOCK_REALTIME) - time(NULL) < 2);
    struct timeval day;
    SHOW(gettimeofday(&day, NULL));
    printf("%d\n", day.tv_sec - time(NULL) <= 1);
    struct tms ticks;
    printf("%d\n", times(&ticks) != -1 && ticks.tms_cutime == 0);
    printf("%d\n", clock() >= 0 && now(CLOCK_PROCESS_CPUTIME_ID) >= 0);
    unsigned word = 1;
    SHOW(syscall(SYS_futex, &word, 1, 1, NULL, NULL, 0));
    SHOW(syscall(SYS_futex, &word, 0, 2, NULL, NULL, 0));
    span = (struct timespec){0, 1000000};
    SHOW(syscall(SYS_futex, &word, 0, 1, &span, NULL, 0));
    SHOW(syscall(SYS_futex, (char *)&word + 1, 0, 1, &span, NULL, 0));
    SHOW(syscall(5000));
    return 300;
}
