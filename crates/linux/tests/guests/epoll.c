// epoll and event counters, call by call, and with threads that wait for them.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int epoll, event, ends[2];

static long result(long value) { return value == -1 ? -errno : value; }

#define show(call) printf("%s: %ld\n", #call, result((long)(call)))

static void news(const char *what, int timeout) {
    struct epoll_event events[8];
    int count = epoll_wait(epoll, events, 8, timeout);
    uint64_t sum = 0, all = 0;
    for (int n = 0; n < count; n++) {
        sum += events[n].data.u64;
        all |= events[n].events;
    }
    printf("%s: %d, data %llu, events %llx\n", what, count, (unsigned long long)sum, (unsigned long long)all);
}

static int watch(int command, int fd, uint32_t events, uint64_t data) {
    struct epoll_event how = {.events = events, .data.u64 = data};
    return epoll_ctl(epoll, command, fd, &how);
}

static void *write_later(void *argument) {
    uint64_t one = 1;
    usleep(3000);
    if (argument) {
        if (write(ends[1], "x", 1) != 1) printf("not written\n");
    } else if (write(event, &one, 8) != 8) {
        printf("not added\n");
    }
    return NULL;
}

int main(void) {
    uint64_t number = 5, most = -2;
    char bytes[16];
    pthread_t thread;
    event = eventfd(3, EFD_NONBLOCK);
    show(read(event, &number, 8));
    printf("%llu\n", (unsigned long long)number);
    show(read(event, &number, 8));
    show(read(event, &number, 4));
    show(write(event, &number, 7));
    show(write(event, &most, 8));
    show(write(event, &number, 8));
    most = -1;
    show(write(event, &most, 8));
    show(read(event, &number, 8));
    int semaphore = eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK);
    show(read(semaphore, &number, 8));
    show(read(semaphore, &number, 8));
    show(read(semaphore, &number, 8));

    epoll = epoll_create1(EPOLL_CLOEXEC);
    show(pipe2(ends, O_NONBLOCK));
    show(watch(EPOLL_CTL_ADD, ends[0], EPOLLIN, 1));
    show(watch(EPOLL_CTL_ADD, ends[0], EPOLLIN, 1));
    show(watch(EPOLL_CTL_MOD, event, EPOLLIN, 1));
    show(watch(EPOLL_CTL_DEL, event, EPOLLIN, 1));
    show(watch(EPOLL_CTL_ADD, 99, EPOLLIN, 1));
    show(watch(EPOLL_CTL_ADD, epoll, EPOLLIN, 1));
    show(watch(9, ends[1], EPOLLIN, 1));
    show(watch(EPOLL_CTL_ADD, ends[1], EPOLLOUT | EPOLLET, 10));
    show(watch(EPOLL_CTL_ADD, event, EPOLLIN, 100));
    show(epoll_wait(epoll, NULL, 0, 0));
    news("edge", 0);
    news("edge again", 0);
    show(write(ends[1], "abc", 3));
    news("level", 0);
    news("level again", 0);
    show(read(ends[0], bytes, 16));
    number = 1;
    show(write(event, &number, 8));
    show(watch(EPOLL_CTL_DEL, ends[1], 0, 0));
    news("event", 0);
    show(watch(EPOLL_CTL_MOD, event, EPOLLIN | EPOLLONESHOT, 200));
    news("once", 0);
    news("once again", 0);
    show(watch(EPOLL_CTL_MOD, event, EPOLLIN | EPOLLONESHOT, 200));
    show(read(event, &number, 8));
    struct pollfd entry = {epoll, POLLIN, 0};
    show(poll(&entry, 1, 0));
    pthread_create(&thread, NULL, write_later, NULL);
    news("from a thread", -1);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, write_later, ends);
    news("by a pipe", 1000);
    show(poll(&entry, 1, 0));
    pthread_join(thread, NULL);
    show(read(ends[0], bytes, 16));
    news("timeout", 2);
    close(ends[1]);
    news("end", -1);
    close(ends[0]);
    news("closed", 0);

    int blocking = eventfd(0, 0);
    event = blocking;
    pthread_create(&thread, NULL, write_later, NULL);
    show(read(blocking, &number, 8));
    pthread_join(thread, NULL);
    return 0;
}
