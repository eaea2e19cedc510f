// What one process sees of locks: which calls fail, the ranges that they mean, and that open files exclude each other.
// With PRIVATE, nothing of how the process's own record locks and those of open files meet.
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "show.h"

static struct flock at(int type, int whence, long start, long length) {
    return (struct flock){.l_type = type, .l_whence = whence, .l_start = start, .l_len = length};
}

#define LOCK(fd, command, ...)                                      \
    do {                                                            \
        struct flock lock = at(__VA_ARGS__);                        \
        errno = 0;                                                  \
        long result = fcntl(fd, command, &lock);                    \
        show_value(#command " " #fd ": " #__VA_ARGS__, result, errno); \
    } while (0)

// What is in the way of a lock on these bytes.
static void show_found(int fd, int command, int type, long start, long length) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length, .l_pid = 0};
    int result = fcntl(fd, command, &lock);
    printf("%d %ld+%ld: %d, type %d whence %d start %ld length %ld", type, start, length, result, lock.l_type,
           lock.l_whence, (long)lock.l_start, (long)lock.l_len);
    // The number of a process is not what is compared.
    if (lock.l_type != F_UNLCK && lock.l_pid == -1) printf(" of a file");
    printf("\n");
}

static void whole_files(void) {
    int one = open("file", O_RDWR), two = open("file", O_RDONLY), copy = dup(one);
    SHOW(flock(one, LOCK_EX));
    SHOW(flock(one, LOCK_EX | LOCK_NB));
    SHOW(flock(copy, LOCK_EX | LOCK_NB));
    SHOW(flock(two, LOCK_EX | LOCK_NB));
    SHOW(flock(two, LOCK_SH | LOCK_NB));
    SHOW(flock(copy, LOCK_SH));
    SHOW(flock(two, LOCK_SH | LOCK_NB));
    SHOW(flock(one, LOCK_EX | LOCK_NB));
    // That has cost it its shared lock.
    SHOW(flock(two, LOCK_EX | LOCK_NB));
    SHOW(flock(two, LOCK_UN));
    SHOW(flock(two, LOCK_UN | LOCK_NB));
    SHOW(flock(one, LOCK_EX));
    close(one);
    SHOW(flock(two, LOCK_EX | LOCK_NB));
    close(copy);
    SHOW(flock(two, LOCK_EX | LOCK_NB));
    SHOW(flock(two, 0));
    SHOW(flock(two, LOCK_NB));
    SHOW(flock(two, LOCK_SH | LOCK_EX));
    SHOW(flock(two, 64 | LOCK_SH));
    SHOW(flock(99, LOCK_SH));
    int place = open("file", O_PATH), directory = open(".", O_RDONLY), again = open(".", O_RDONLY);
    SHOW(flock(place, LOCK_SH));
    SHOW(flock(directory, LOCK_EX));
    SHOW(flock(again, LOCK_SH | LOCK_NB));
    close(directory);
    SHOW(flock(again, LOCK_SH | LOCK_NB));
    close(two), close(place), close(again);
}

static void arguments(void) {
    int fd = open("file", O_RDWR), reader = open("file", O_RDONLY), writer = open("file", O_WRONLY);
    lseek(fd, 100, SEEK_SET);
    LOCK(fd, F_SETLK, F_WRLCK, SEEK_CUR, -100, 10);
    LOCK(fd, F_SETLK, F_WRLCK, SEEK_CUR, -101, 10);
    LOCK(fd, F_SETLK, F_WRLCK, SEEK_CUR, 0, -100);
    LOCK(fd, F_SETLK, F_WRLCK, SEEK_CUR, 0, -101);
    LOCK(fd, F_SETLK, F_WRLCK, SEEK_END, -1000, 1);
    LOCK(fd, F_SETLK, F_WRLCK, SEEK_END, -1001, 1);
    LOCK(fd, F_SETLK, F_WRLCK, SEEK_SET, LONG_MAX, 1);
    LOCK(fd, F_SETLK, F_WRLCK, SEEK_SET, LONG_MAX, 2);
    LOCK(fd, F_SETLK, F_WRLCK, SEEK_CUR, LONG_MAX, 0);
    LOCK(fd, F_SETLK, F_WRLCK, SEEK_SET, 0, LONG_MIN);
    LOCK(fd, F_SETLK, F_WRLCK, 3, 0, 1);
    LOCK(fd, F_SETLK, 3, SEEK_SET, 0, 1);
    LOCK(fd, F_GETLK, F_UNLCK, SEEK_SET, 0, 1);
    LOCK(fd, F_GETLK, F_WRLCK, SEEK_SET, -1, 1);
    LOCK(reader, F_SETLK, F_WRLCK, SEEK_SET, 0, 1);
    LOCK(reader, F_SETLKW, F_WRLCK, SEEK_SET, 0, 1);
    LOCK(reader, F_OFD_SETLK, F_WRLCK, SEEK_SET, 0, 1);
    LOCK(reader, F_SETLK, F_RDLCK, SEEK_SET, 0, 1);
    LOCK(writer, F_SETLK, F_RDLCK, SEEK_SET, 0, 1);
    LOCK(writer, F_OFD_SETLK, F_RDLCK, SEEK_SET, 0, 1);
    LOCK(writer, F_SETLK, F_WRLCK, SEEK_SET, 0, 1);
    LOCK(reader, F_GETLK, F_WRLCK, SEEK_SET, 0, 0);
    LOCK(reader, F_SETLK, F_UNLCK, SEEK_SET, 0, 0);
    LOCK(99, F_SETLK, F_RDLCK, SEEK_SET, 0, 1);
    struct flock owned = at(F_RDLCK, SEEK_SET, 0, 1);
    owned.l_pid = 1;
    SHOW(fcntl(fd, F_OFD_SETLK, &owned));
    SHOW(fcntl(fd, F_OFD_GETLK, &owned));
    SHOW(fcntl(fd, F_SETLK, &owned));
    SHOW(syscall(SYS_fcntl, fd, F_SETLK, 8));
    SHOW(syscall(SYS_fcntl, fd, F_GETLK, 8));
    int ends[2];
    if (pipe(ends) != 0) return;
    LOCK(ends[0], F_SETLK, F_RDLCK, SEEK_SET, 0, 1);
    LOCK(ends[0], F_SETLK, F_WRLCK, SEEK_SET, 0, 1);
    LOCK(ends[1], F_SETLK, F_WRLCK, SEEK_SET, 0, 1);
    close(ends[0]), close(ends[1]), close(fd), close(reader), close(writer);
}

// Locks of one open file as another sees them.
static void open_files(void) {
    int one = open("file", O_RDWR), two = open("file", O_RDWR);
    lseek(one, 500, SEEK_SET), lseek(two, 7, SEEK_SET);
    LOCK(one, F_OFD_SETLK, F_WRLCK, SEEK_SET, 10, 10);
    LOCK(one, F_OFD_SETLK, F_RDLCK, SEEK_CUR, 0, -50);
    LOCK(one, F_OFD_SETLK, F_WRLCK, SEEK_END, 0, 0);
    show_found(one, F_OFD_GETLK, F_WRLCK, 0, 0);
    show_found(two, F_OFD_GETLK, F_RDLCK, 0, 0);
    show_found(two, F_OFD_GETLK, F_WRLCK, 20, 980);
    show_found(two, F_OFD_GETLK, F_RDLCK, 20, 0);
    show_found(two, F_OFD_GETLK, F_RDLCK, 20, 980);
    LOCK(two, F_OFD_SETLK, F_RDLCK, SEEK_SET, 0, 11);
    LOCK(two, F_OFD_SETLK, F_RDLCK, SEEK_CUR, -7, 10);
    LOCK(two, F_OFD_SETLKW, F_RDLCK, SEEK_SET, 450, 50);
    LOCK(two, F_OFD_SETLK, F_WRLCK, SEEK_SET, 450, 50);
    LOCK(one, F_OFD_SETLK, F_UNLCK, SEEK_SET, 12, 3);
    show_found(two, F_OFD_GETLK, F_WRLCK, 10, 10);
    show_found(two, F_OFD_GETLK, F_WRLCK, 12, 10);
    LOCK(one, F_OFD_SETLK, F_RDLCK, SEEK_SET, 12, 8);
    show_found(two, F_OFD_GETLK, F_WRLCK, 12, 10);
    close(one);
    LOCK(two, F_OFD_SETLK, F_WRLCK, SEEK_SET, 0, 0);
    // `flock` is something else.
    one = open("file", O_RDWR);
    SHOW(flock(one, LOCK_EX | LOCK_NB));
    close(one), close(two);
}

#ifndef PRIVATE
// The process's own locks, as an open file sees them.
static void process(void) {
    int one = open("file", O_RDWR), two = open("file", O_RDWR), file = open("file", O_RDWR);
    LOCK(one, F_SETLK, F_WRLCK, SEEK_SET, 0, 10);
    LOCK(two, F_SETLK, F_RDLCK, SEEK_SET, 5, 10);
    show_found(one, F_GETLK, F_WRLCK, 0, 0);
    LOCK(file, F_OFD_SETLK, F_RDLCK, SEEK_SET, 4, 1);
    LOCK(file, F_OFD_SETLK, F_RDLCK, SEEK_SET, 5, 1);
    show_found(two, F_GETLK, F_WRLCK, 0, 0);
    show_found(two, F_GETLK, F_RDLCK, 0, 0);
    LOCK(two, F_SETLK, F_WRLCK, SEEK_SET, 5, 1);
    LOCK(one, F_OFD_SETLK, F_RDLCK, SEEK_SET, 0, 1);
    LOCK(file, F_OFD_SETLK, F_UNLCK, SEEK_SET, 0, 0);
    // Each of these ends all locks of the process, and none of a file.
    SHOW(close(open("file", O_RDONLY)));
    LOCK(file, F_OFD_SETLK, F_WRLCK, SEEK_SET, 0, 0);
    LOCK(file, F_OFD_SETLK, F_UNLCK, SEEK_SET, 0, 0);
    LOCK(one, F_SETLK, F_WRLCK, SEEK_SET, 0, 10);
    SHOW(close(dup(two)));
    LOCK(file, F_OFD_SETLK, F_WRLCK, SEEK_SET, 0, 0);
    LOCK(file, F_OFD_SETLK, F_UNLCK, SEEK_SET, 0, 0);
    LOCK(one, F_SETLK, F_WRLCK, SEEK_SET, 0, 10);
    int other = open("/dev/null", O_RDONLY), over = dup(one);
    SHOW(dup2(other, over) == over);
    LOCK(file, F_OFD_SETLK, F_WRLCK, SEEK_SET, 0, 0);
    LOCK(file, F_OFD_SETLK, F_UNLCK, SEEK_SET, 0, 0);
    LOCK(one, F_SETLK, F_WRLCK, SEEK_SET, 0, 10);
    int copy = fcntl(one, F_DUPFD, 50);
    SHOW(syscall(SYS_close_range, copy, copy, 0));
    LOCK(file, F_OFD_SETLK, F_WRLCK, SEEK_SET, 0, 0);
    LOCK(file, F_OFD_SETLK, F_UNLCK, SEEK_SET, 0, 0);
    // These do not.
    LOCK(one, F_SETLK, F_WRLCK, SEEK_SET, 0, 10);
    SHOW(close(open("other", O_CREAT | O_RDWR, 0644)));
    SHOW(close(open("file", O_PATH)));
    SHOW(close(99));
    LOCK(file, F_OFD_SETLK, F_RDLCK, SEEK_SET, 9, 1);
    // A file without a name is the same file.
    SHOW(unlink("file"));
    LOCK(two, F_SETLK, F_UNLCK, SEEK_SET, 0, 5);
    LOCK(file, F_OFD_SETLK, F_WRLCK, SEEK_SET, 0, 5);
    LOCK(file, F_OFD_SETLK, F_WRLCK, SEEK_SET, 0, 6);
    close(one), close(two), close(file), close(other), close(over);
}
#endif

static void noted(int number) { (void)number; }

static sem_t has_file;

static void *waits(void *argument) {
    int fd = *(int *)argument;
    SHOW(flock(fd, LOCK_EX));
    SHOW(flock(fd, LOCK_UN));
    sem_post(&has_file);
    LOCK(fd, F_OFD_SETLKW, F_WRLCK, SEEK_SET, 0, 0);
    return NULL;
}

// A thread waits for what another one has.
static void waiting(void) {
    int one = open("waiting", O_CREAT | O_RDWR, 0644), two = open("waiting", O_RDWR);
    flock(one, LOCK_EX);
    struct flock all = at(F_WRLCK, SEEK_SET, 0, 0);
    fcntl(one, F_OFD_SETLK, &all);
    pthread_t thread;
    pthread_create(&thread, NULL, waits, &two);
    usleep(30000);
    printf("unlocked\n");
    flock(one, LOCK_UN);
    sem_wait(&has_file);
    usleep(30000);
    printf("unlocked its bytes\n");
    all.l_type = F_UNLCK;
    fcntl(one, F_OFD_SETLK, &all);
    pthread_join(thread, NULL);
    // A signal ends a wait.
    struct sigaction action = {.sa_handler = noted};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    LOCK(one, F_OFD_SETLKW, F_RDLCK, SEEK_SET, 0, 0);
    // Or does not.
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    pthread_create(&thread, NULL, waits, &one);
    sem_wait(&has_file);
    sigset_t alarm;
    sigemptyset(&alarm), sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    usleep(60000);
    printf("closed\n");
    close(two);
    pthread_join(thread, NULL);
    close(one);
    unlink("waiting");
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1) mkdir(argv[1], 0755);
    if (argc < 2 || chdir(argv[1]) != 0) return 1;
    int fd = open("file", O_CREAT | O_WRONLY, 0644);
    if (ftruncate(fd, 1000) != 0) return 2;
    close(fd);
    whole_files();
    arguments();
    open_files();
#ifndef PRIVATE
    process();
#endif
    waiting();
}
