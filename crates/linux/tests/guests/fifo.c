// FIFOs between threads, in the directory of the first argument.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "show.h"

static char from_reader[100000];
static size_t total;

// Reads all that comes until no writer is left.
static void *reads(void *name) {
    int fd = open(name, O_RDONLY);
    ssize_t len;
    while ((len = read(fd, from_reader + total, sizeof from_reader - total)) > 0) total += len;
    close(fd);
    return NULL;
}

static void *writes(void *name) {
    int fd = open(name, O_WRONLY);
    for (int i = 0; i < 90000; i += 9) write(fd, "nine char", 9);
    close(fd);
    return NULL;
}

// Opens and closes its end, to be gone before the other thread notices.
static void *passes(void *name) {
    close(open(name, O_WRONLY));
    return NULL;
}

static volatile int alarms;

static void on_alarm(int number) {
    (void)number;
    alarms++;
}

// Opens its end once an alarm has come, which is for the other thread.
static void *opens_late(void *name) {
    while (alarms == 0) usleep(1000);
    close(open(name, O_WRONLY));
    return NULL;
}

static void restarts(void) {
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, opens_late, "fifo");
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    struct itimerval timer = {.it_value = {0, 50000}};
    setitimer(ITIMER_REAL, &timer, NULL);
    int fd = open("fifo", O_RDONLY);
    printf("restarted: %d\n", fd >= 0);
    close(fd);
    pthread_join(thread, NULL);
    alarms = 0;
}

static void *waits(void *name) {
    SHOW(open(name, O_RDONLY) >= 0);
    return NULL;
}

// What is waited for is the FIFO that the name stood for.
static void renamed(void) {
    mkfifo("fifo", 0600);
    pthread_t thread;
    pthread_create(&thread, NULL, waits, "fifo");
    // Time does not pass here while the other thread can run.
    usleep(1000);
    SHOW(chmod("fifo", 0200));
    SHOW(rename("fifo", "moved"));
    mkfifo("fifo", 0600);
    usleep(1000);
    SHOW(open("fifo", O_WRONLY | O_NONBLOCK));
    SHOW(open("moved", O_WRONLY) >= 0);
    pthread_join(thread, NULL);
}

// An open end has the status of its name.
static void same(const char *name, int fd) {
    struct stat named, opened;
    struct statfs system;
    SHOW(lstat(name, &named));
    SHOW(fstat(fd, &opened));
    printf("same: %d, mode %o, links %d, size %ld, type %lx\n", !memcmp(&named, &opened, sizeof named), opened.st_mode,
        (int)opened.st_nlink, opened.st_size, fstatfs(fd, &system) ? 0 : (long)system.f_type);
}

int main(int argc, char **argv) {
    if (argc > 1) mkdir(argv[1], 0755);
    if (argc < 2 || chdir(argv[1]) != 0) return 1;
    umask(022);
    if (argc > 2 && argv[2][0] == 'r') return renamed(), fflush(stdout);
    SHOW(mkfifo("fifo", 0644));
    SHOW(mkfifo("fifo", 0644));
    struct stat st;
    SHOW(stat("fifo", &st));
    printf("mode %o size %ld\n", st.st_mode, st.st_size);
    // The reader is first, or the writer; both go on.
    pthread_t thread;
    pthread_create(&thread, NULL, reads, "fifo");
    int fd = open("fifo", O_WRONLY);
    SHOW(write(fd, "hello", 5));
    SHOW(close(fd));
    pthread_join(thread, NULL);
    printf("read %.*s\n", (int)total, from_reader);
    total = 0;
    pthread_create(&thread, NULL, writes, "fifo");
    reads("fifo");
    pthread_join(thread, NULL);
    printf("read %zu\n", total);
    for (int i = 0; i < 20; i++) {
        pthread_create(&thread, NULL, passes, "fifo");
        close(open("fifo", O_RDONLY));
        pthread_join(thread, NULL);
    }
    // Without waiting.
    SHOW(open("fifo", O_WRONLY | O_NONBLOCK));
    int reader = open("fifo", O_RDONLY | O_NONBLOCK);
    SHOW(read(reader, from_reader, 5));
    int writer = open("fifo", O_WRONLY | O_NONBLOCK);
    SHOW(read(reader, from_reader, 5));
    SHOW(write(writer, "abc", 3));
    struct pollfd asked = {.fd = reader, .events = POLLIN};
    SHOW(poll(&asked, 1, 0));
    same("fifo", reader);
    same("fifo", writer);
    SHOW(fchmod(reader, 0600));
    same("fifo", writer);
    SHOW(futimens(writer, (struct timespec[]){{5, 0}, {6, 7}}));
    same("fifo", reader);
    SHOW(rename("fifo", "moved"));
    same("moved", reader);
    SHOW(unlink("moved"));
    SHOW(read(reader, from_reader, 5));
    SHOW(fstat(reader, &st));
    printf("a FIFO: %d, mode %o, links %d\n", S_ISFIFO(st.st_mode), st.st_mode, (int)st.st_nlink);
    SHOW(lseek(reader, 0, SEEK_SET));
    SHOW(close(writer));
    SHOW(read(reader, from_reader, 5));
    SHOW(close(reader));
    // What is left goes with the last end.
    SHOW(mknod("fifo", S_IFIFO | 0600, 0));
    reader = open("fifo", O_RDONLY | O_NONBLOCK);
    writer = open("fifo", O_WRONLY);
    SHOW(write(writer, "lost", 4));
    close(writer);
    close(reader);
    reader = open("fifo", O_RDONLY | O_NONBLOCK);
    SHOW(read(reader, from_reader, 5));
    close(reader);
    SHOW(truncate("fifo", 0));
    int path = open("fifo", O_PATH);
    SHOW(fstat(path, &st));
    close(path);
    restarts();
    // A signal ends the waiting; signals come repeatedly, as the first may come before the call.
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {.it_value = {0, 50000}, .it_interval = {0, 50000}};
    setitimer(ITIMER_REAL, &timer, NULL);
    SHOW(open("fifo", O_RDONLY));
    timer.it_value = timer.it_interval = (struct timeval){0, 0};
    setitimer(ITIMER_REAL, &timer, NULL);
    SHOW(open("fifo", O_WRONLY | O_NONBLOCK));
    SHOW(unlink("fifo"));
    if (argc > 2) {
        fflush(stdout);
        mkfifo("alone", 0600);
        open("alone", O_RDONLY);
    }
    return 0;
}
