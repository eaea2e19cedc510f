// What programs seldom look at: slashes behind names, directories that change while they are read, lowered limits, what is
// left of timeouts, turns of descriptors, writes in one piece, queued signals.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "show.h"

static int made(const char *name) { return close(open(name, O_CREAT | O_WRONLY, 0644)); }

static void slashes(void) {
    struct stat status;
    mkdir("directory", 0755), symlink("directory", "link"), made("file");
    SHOW(lstat("link/", &status) == 0 && S_ISDIR(status.st_mode));
    SHOW(rmdir("link/"));
    SHOW(unlink("link/"));
    SHOW(mkdir("link/", 0755));
    SHOW(rename("link/", "moved"));
    SHOW(rename("directory", "link/"));
    SHOW(rename("file", "other/"));
    SHOW(rename("file/", "other"));
    SHOW(link("file", "second/"));
    SHOW(link("file", "directory/"));
    SHOW(symlink("target", "new/"));
    SHOW(symlink("target", "directory/"));
    SHOW(mknod("node/", S_IFREG | 0644, 0));
    SHOW(unlink("file/"));
    SHOW(unlink("directory/"));
    SHOW(unlink("nothing/"));
    SHOW(mkdir("made//", 0755));
    SHOW(rename("made/", "made2/"));
    SHOW(rmdir("made2//"));
    SHOW(unlink("link"));
    SHOW(unlink("file"));
    SHOW(rmdir("directory/"));
}

static void reading(void) {
    mkdir("read", 0755);
    char name[300], new[64];
    for (int n = 0; n < 3; n++) sprintf(name, "read/%d", n), made(name);
    DIR *directory = opendir("read");
    int count = 0;
    for (struct dirent *entry; count < 1000 && (entry = readdir(directory));) {
        if (entry->d_name[0] == '.') continue;
        sprintf(name, "read/%s", entry->d_name), sprintf(new, "read/new%d", count++);
        rename(name, new);
    }
    printf("ends: %d\n", count < 100);
    rewinddir(directory);
    for (count = 0; readdir(directory);) count++;
    printf("%d entries\n", count);
    closedir(directory);
    for (int n = 0; n < 1000; n++) sprintf(name, "read/new%d", n), unlink(name);
    SHOW(rmdir("read"));
}

static void show_file(int file) {
    char text[20] = "";
    long length = read(file, text, sizeof text - 1);
    printf("%ld <%s>\n", length, text);
    close(file);
}

// An open file is opened again, whatever has its name.
static void again(void) {
    char path[40];
    int file = open("one", O_CREAT | O_RDWR, 0644), other = open("two", O_CREAT | O_RDWR, 0644);
    write(file, "first", 5), write(other, "second", 6);
    sprintf(path, "/proc/self/fd/%d", file);
    SHOW(rename("two", "one"));
    show_file(open(path, O_RDONLY));
    int writing = open(path, O_WRONLY | O_APPEND);
    SHOW(write(writing, "!", 1));
    SHOW(unlink("one"));
    show_file(open(path, O_RDWR));
    SHOW(open(path, O_RDONLY | O_DIRECTORY));
    close(open(path, O_WRONLY | O_TRUNC));
    show_file(open(path, O_RDONLY));
    close(file), close(other), close(writing);
}

static void timeouts(void) {
    int ends[2];
    SHOW(pipe(ends));
    struct timeval span = {0, 20000};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    SHOW(select(ends[0] + 1, &set, NULL, NULL, &span));
    printf("left %ld %ld\n", (long)span.tv_sec, (long)span.tv_usec);
    write(ends[1], "x", 1);
    span = (struct timeval){100, 0};
    FD_SET(ends[0], &set);
    SHOW(select(ends[0] + 1, &set, NULL, NULL, &span));
    printf("left %d\n", span.tv_sec >= 98 && span.tv_sec <= 100);
    struct pollfd entry = {ends[0], POLLIN, 0};
    struct timespec rest = {100, 7};
    SHOW(syscall(SYS_ppoll, &entry, 1, &rest, NULL, 8));
    printf("left %d\n", rest.tv_sec >= 98 && rest.tv_sec <= 100);
    entry.events = 0, rest = (struct timespec){0, 20000000};
    SHOW(syscall(SYS_ppoll, &entry, 1, &rest, NULL, 8));
    printf("left %ld %ld\n", (long)rest.tv_sec, rest.tv_nsec);
    close(ends[0]), close(ends[1]);
}

static void turns(void) {
    int pipes[3][2], served = 0;
    int epoll = epoll_create1(0);
    struct epoll_event event = {EPOLLIN, {0}};
    for (int n = 0; n < 3; n++) {
        pipe(pipes[n]), write(pipes[n][1], "x", 1);
        event.data.u32 = 1 << n;
        epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[n][0], &event);
    }
    for (int n = 0; n < 6; n++) {
        printf("%d ", epoll_wait(epoll, &event, 1, 0));
        served |= event.data.u32;
    }
    printf("served: %d\n", served);
    int null = open("/dev/null", O_RDWR);
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, null, &event));
    for (int n = 0; n < 3; n++) close(pipes[n][0]), close(pipes[n][1]);
    close(epoll), close(null);
}

static void pieces(void) {
    static char bytes[1 << 16];
    int ends[2];
    pipe2(ends, O_NONBLOCK);
    SHOW(write(ends[1], bytes, sizeof bytes));
    SHOW(read(ends[0], bytes, 4096));
    struct iovec parts[3] = {{bytes, 1500}, {bytes, 1500}, {bytes, 1000}};
    SHOW(writev(ends[1], parts, 3));
    SHOW(writev(ends[1], parts, 2));
    parts[1].iov_base = NULL;
    SHOW(writev(ends[1], parts + 1, 1));
    close(ends[0]), close(ends[1]);
}

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)context;
    printf("signal %d: code %d, own: %d, value %d\n", number == SIGRTMIN ? 100 : number, info->si_code,
           info->si_pid == getpid() && info->si_uid == getuid(), number == SIGRTMIN ? info->si_value.sival_int : 0);
}

static void signals(void) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL), sigaction(SIGRTMIN, &action, NULL);
    kill(getpid(), SIGUSR1);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGUSR1), sigaddset(&set, SIGRTMIN), sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int n = 1; n <= 3; n++) SHOW(sigqueue(getpid(), SIGRTMIN, (union sigval){n}));
    SHOW(sigqueue(getpid(), SIGUSR1, (union sigval){4}));
    SHOW(kill(getpid(), SIGUSR1));
    SHOW(sigqueue(getpid(), 0, (union sigval){5}));
    SHOW(sigqueue(getpid(), 99, (union sigval){5}));
    siginfo_t info;
    sigset_t one;
    sigemptyset(&one), sigaddset(&one, SIGRTMIN);
    SHOW(sigwaitinfo(&one, &info) == SIGRTMIN);
    printf("code %d, own: %d, value %d\n", info.si_code, info.si_pid == getpid(), info.si_value.sival_int);
    int file = signalfd(-1, &one, SFD_NONBLOCK);
    struct signalfd_siginfo told;
    SHOW(read(file, &told, sizeof told));
    printf("code %d, own: %d, value %d\n", told.ssi_code, told.ssi_pid == (unsigned)getpid(), told.ssi_int);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    sigprocmask(SIG_BLOCK, &set, NULL);
    SHOW(read(file, &told, sizeof told));
    close(file);
    struct itimerval timer = {{0, 0}, {0, 1000}};
    setitimer(ITIMER_REAL, &timer, NULL);
    sigemptyset(&one), sigaddset(&one, SIGALRM);
    SHOW(sigwaitinfo(&one, &info));
    printf("code %d, pid %d\n", info.si_code, info.si_pid);
    signal(SIGUSR1, SIG_IGN);
    SHOW(sigpending(&one));
    printf("pending: %d\n", sigismember(&one, SIGUSR1));
}

static void lowered(int resource, rlim_t soft, rlim_t hard) {
    struct rlimit limit = {soft, hard};
    SHOW(setrlimit(resource, &limit));
    getrlimit(resource, &limit);
    printf("%d: %ld %ld\n", resource, (long)limit.rlim_cur, (long)limit.rlim_max);
}

static void limits(void) {
    static char bytes[3000];
    signal(SIGXFSZ, SIG_IGN);
    lowered(RLIMIT_CORE, 0, 0);
    lowered(RLIMIT_NOFILE, 20, 100);
    lowered(RLIMIT_NOFILE, 30, 100);
    struct rlimit limit = {60, 50};
    SHOW(setrlimit(RLIMIT_NOFILE, &limit));
    int first = -1, last = -1;
    for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0; last = fd) first = first < 0 ? fd : first;
    printf("%d to %d: %s\n", first, last, strerror(errno));
    SHOW(dup2(first, 30));
    SHOW(dup2(first, 29));
    for (; last >= first; last--) close(last);
    lowered(RLIMIT_FSIZE, 2000, 2000);
    int file = open("large", O_CREAT | O_RDWR, 0644);
    SHOW(write(file, bytes, sizeof bytes));
    SHOW(write(file, bytes, sizeof bytes));
    close(file);
    SHOW(unlink("large"));
}

static void others(void) {
    struct sched_param param = {0};
    SHOW(sched_setscheduler(0, SCHED_BATCH, &param));
    SHOW(sched_setscheduler(0, SCHED_OTHER, &param));
    SHOW(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    SHOW(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
    siginfo_t info;
    SHOW(waitid(P_ALL, 0, &info, WEXITED));
    SHOW(waitid(P_ALL, 0, &info, WNOHANG));
    SHOW(waitid(P_PID, 1, &info, WEXITED));
    SHOW(waitid(7, 1, &info, WEXITED));
    int ends[2];
    pipe(ends);
    SHOW(posix_fadvise(ends[0], 0, 0, POSIX_FADV_NORMAL) == ESPIPE);
    close(ends[0]), close(ends[1]);
    int file = open("advised", O_CREAT | O_RDWR, 0644);
    SHOW(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED));
    SHOW(posix_fadvise(file, 0, 0, 99) == EINVAL);
    close(file), unlink("advised");
}

static char data[8192] __attribute__((aligned(4096)));

// Text that may be written to, as dynamic linkers ask for it, does not run otherwise than it was.
static void text(void) {
    char *page = (char *)((long)text & -4096);
    SHOW(mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
    page[0]++;
    SHOW(mprotect(page, 4096, PROT_READ | PROT_EXEC));
    page[0]--;
    SHOW(mprotect(page, 4096, PROT_READ | PROT_EXEC));
    SHOW(mprotect(data, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
}

// What qemu does not know.
static void advice(void) {
    text();
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = 'p';
    int all[] = {MADV_NORMAL, MADV_HUGEPAGE, MADV_REMOVE, 102, 9999, 24};
    for (int n = 0; n < 6; n++) SHOW(madvise(page, 4096, all[n]));
    printf("dropped: %d\n", page[0] == 0);
    int file = open("mapped", O_CREAT | O_RDWR, 0644);
    ftruncate(file, 4096);
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE, file, 0);
    SHOW(page == MAP_FAILED);
    if (page != MAP_FAILED) page[0] = 'm';
    char first = 0;
    SHOW(pread(file, &first, 1, 0));
    printf("%c\n", first);
    munmap(page, 4096), close(file), unlink("mapped");
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    // It may be there.
    if (argc > 1) mkdir(argv[1], 0755);
    if (argc < 2 || chdir(argv[1]) != 0) return 1;
    if (argc > 2) return advice(), 0;
    slashes();
    reading();
    again();
    timeouts();
    turns();
    pieces();
    signals();
    others();
    limits();
    return 0;
}
