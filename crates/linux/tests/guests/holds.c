// Holds what the first argument says while its host looks, until the file /data/go is there.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "show.h"

static void wait_for_host(void) {
    puts("ready");
    fflush(stdout);
    while (access("/data/go", F_OK) != 0) continue;
}

static void on_alarm(int number) {
    printf("handler of %d\n", number);
}

// Everything that can be kept, each with a state that is not the first.
static void everything(void) {
    char buffer[100] = "";
    int file = open("/data/file", O_RDWR | O_CREAT, 0640);
    write(file, "0123456789", 10);
    lseek(file, 4, SEEK_SET);
    int same = fcntl(file, F_DUPFD_CLOEXEC, 40);
    int log = open("/data/log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    write(log, "before ", 7);
    int zero = open("/dev/zero", O_RDONLY);
    int above = open("/", O_RDONLY | O_DIRECTORY);
    mkdir("/data/sub", 0755);
    chdir("/data/sub");
    umask(027);
    int ends[2];
    pipe2(ends, O_NONBLOCK);
    write(ends[1], "in the pipe", 11);
    int pair[2], packets[2];
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair);
    write(pair[0], "in the socket", 13);
    shutdown(pair[0], SHUT_WR);
    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, packets);
    write(packets[0], "one", 3);
    write(packets[0], "two", 3);
    close(packets[0]);
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    struct itimerval timer = {.it_value = {1000, 0}, .it_interval = {7, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
    close(2);

    wait_for_host();

    SHOW(read(file, buffer, 2));
    SHOW(read(same, buffer + 2, 100));
    printf("%s, flags %d %d\n", buffer, fcntl(file, F_GETFD), fcntl(same, F_GETFD));
    lseek(log, 0, SEEK_SET);
    SHOW(write(log, "behind", 6));
    SHOW(read(zero, buffer, 10));
    struct stat status;
    SHOW(fstat(above, &status));
    printf("a directory: %d\n", S_ISDIR(status.st_mode));
    printf("%s %o\n", getcwd(buffer, sizeof buffer), umask(0));
    SHOW(read(ends[0], buffer, 100));
    printf("%.11s\n", buffer);
    SHOW(read(ends[0], buffer, 100));
    SHOW(read(pair[1], buffer, 100));
    SHOW(read(pair[1], buffer, 100));
    SHOW(write(pair[1], "back", 4));
    SHOW(read(pair[0], buffer, 100));
    SHOW(read(packets[1], buffer, 100));
    SHOW(read(packets[1], buffer, 2));
    SHOW(read(packets[1], buffer, 100));
    SHOW(sigpending(&set));
    printf("pending: %d, blocked: ", sigismember(&set, SIGUSR1));
    sigprocmask(SIG_BLOCK, NULL, &set);
    printf("%d\n", sigismember(&set, SIGUSR1));
    SHOW(getitimer(ITIMER_REAL, &timer));
    printf("due: %d, interval %ld\n", timer.it_value.tv_sec > 900, timer.it_interval.tv_sec);
    raise(SIGALRM);
    SHOW(write(2, "x", 1));
    SHOW(open("/data/new", O_RDWR | O_CREAT, 0600));
    fflush(stdout);
}

// Private files of all kinds: with a name, with two, without any, a link, and a directory that is being read.
static void private(void) {
    char buffer[100] = "";
    int named = open("/tmp/named", O_RDWR | O_CREAT, 0600), nameless = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    write(named, "0123456789", 10);
    lseek(named, 4, SEEK_SET);
    write(nameless, "nameless", 8);
    link("/tmp/named", "/tmp/other");
    symlink("named", "/tmp/link");
    mkdir("/tmp/sub", 0700);
    chdir("/tmp/sub");
    for (const char *name = "abc"; *name; name++) close(open((char[]){*name, 0}, O_CREAT, 0600));
    DIR *sub = opendir(".");
    for (int i = 0; i < 3; i++) readdir(sub);
    long place = telldir(sub);
    int shared = memfd_create("shared", 0);
    ftruncate(shared, 4096);
    char *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    strcpy(mapped, "stored");

    wait_for_host();

    SHOW(read(named, buffer, 3));
    SHOW(write(named, "new", 3));
    SHOW(pread(nameless, buffer + 3, 8, 0));
    puts(buffer);
    memset(buffer, 0, sizeof buffer);
    int other = open("/tmp/link", O_RDONLY);
    SHOW(read(other, buffer, sizeof buffer));
    puts(buffer);
    SHOW(unlink("/tmp/other"));
    seekdir(sub, place);
    for (struct dirent *entry; (entry = readdir(sub));) printf("[%s] ", entry->d_name);
    puts(getcwd(buffer, sizeof buffer));
    pwrite(shared, ", and", 6, 6);
    printf("%s ", mapped);
    strcpy(mapped, "later");
    read(shared, buffer, 6);
    puts(buffer);
    fflush(stdout);
}

// Private files whose names are no paths.
static void names(void) {
    char name[250] = "", buffer[600];
    memset(name, 'n', 249);
    int files[4] = {memfd_create(name, 0), memfd_create("a/../b//c/", 0)};
    mkfifo("/tmp/fifo", 0600);
    files[2] = open("/tmp/fifo", O_PATH);
    for (int depth = 1; depth < 256; depth++) {
        mkdir(depth == 1 ? "/tmp/d" : "d", 0700);
        chdir(depth == 1 ? "/tmp/d" : "d");
    }
    files[3] = open(".", O_TMPFILE | O_RDWR, 0600);
    chdir("/");
    int scratch = files[3];

    wait_for_host();

    for (int i = 0; i < 4; i++) {
        sprintf(buffer, "/proc/self/fd/%d", files[i]);
        ssize_t len = readlink(buffer, buffer, sizeof buffer);
        printf("%zd %.9s %.9s\n", len, buffer, buffer + len - 9);
    }
    SHOW(write(scratch, "x", 1));
    sprintf(buffer, "/proc/self/fd/%d", files[2]);
    struct stat status;
    int end = open(buffer, O_RDONLY | O_NONBLOCK);
    SHOW(fstat(end, &status));
    printf("a FIFO: %d %d\n", S_ISFIFO(status.st_mode), status.st_mode & 0777);
    int writer = open(buffer, O_WRONLY | O_NONBLOCK);
    SHOW(write(writer, "text", 4));
    SHOW(read(end, buffer, 4));
    fflush(stdout);
}

// A mapping of a file that its host changes as well.
static void mapped(void) {
    int file = open("/data/mapped", O_RDWR | O_CREAT, 0600);
    ftruncate(file, 4 * 4096);
    char *all = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    char *made = mmap(NULL, 4096, PROT_READ, MAP_SHARED, open("/data/mapped", O_RDWR), 4 * 4096);
    mprotect(made, 4096, PROT_READ | PROT_WRITE);
    strcpy(all, "before");
    msync(all, 4096, MS_SYNC);
    strcpy(all + 4096, "stored");
    pwrite(file, "call", 4, 2 * 4096 + 10);

    wait_for_host();

    strcpy(all + 3 * 4096, "after");
    close(file);
}

// The address of a name, and an abstract one for `@`.
static struct sockaddr *at(const char *name) {
    static struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, name);
    if (*name == '@') address.sun_path[0] = 0;
    return (struct sockaddr *)&address;
}

#define AT(name) at(name), 2 + strlen(name)

static void show_peer(int fd) {
    struct sockaddr_un peer = {0};
    socklen_t length = sizeof peer;
    SHOW(getpeername(fd, (struct sockaddr *)&peer, &length));
    printf("%d bytes, %s\n", (int)length, peer.sun_path + (length > 2 && !peer.sun_path[0]));
}

// Connections that wait for their listener, names, and datagrams that know their senders.
static void sockets(void) {
    char buffer[100] = "";
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), gone = socket(AF_UNIX, SOCK_STREAM, 0);
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int late = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int one = socket(AF_UNIX, SOCK_DGRAM, 0), two = socket(AF_UNIX, SOCK_DGRAM, 0);
    bind(server, AT("/tmp/stream"));
    listen(server, 1);
    bind(client, AT("@client"));
    connect(gone, AT("/tmp/stream"));
    write(gone, "early", 5);
    close(gone);
    connect(client, AT("/tmp/stream"));
    bind(one, AT("/tmp/one"));
    bind(two, AT("@two"));
    connect(two, AT("/tmp/one"));
    send(two, "first", 5, 0);
    unlink("/tmp/one");

    wait_for_host();

    int accepted;
    SHOW(connect(late, AT("/tmp/stream")));
    SHOW(accepted = accept(server, NULL, NULL));
    SHOW(read(accepted, buffer, 100));
    SHOW(read(accepted, buffer, 100));
    SHOW(accepted = accept(server, NULL, NULL));
    show_peer(accepted), show_peer(client);
    SHOW(write(accepted, "back", 4));
    SHOW(read(client, buffer, 100));
    SHOW(connect(late, AT("/tmp/stream")));
    struct sockaddr_un from = {0};
    socklen_t length = sizeof from;
    SHOW(recvfrom(one, buffer, 100, 0, (struct sockaddr *)&from, &length));
    SHOW(sendto(one, "again", 5, 0, (struct sockaddr *)&from, length));
    SHOW(recv(two, buffer, 100, 0));
    SHOW(send(two, "more", 4, 0));
    SHOW(recv(one, buffer, 100, 0));
    SHOW(bind(late, AT("@two")));
    SHOW(unlink("/tmp/stream"));
    SHOW(connect(late, AT("/tmp/stream")));
}

int main(int argc, char **argv) {
    const char *held = argv[1];
    if (strcmp(held, "mapped") == 0) return mapped(), 2;
    if (strcmp(held, "names") == 0) return names(), 2;
    if (strcmp(held, "sockets") == 0) return sockets(), 2;
    if (strcmp(held, "private") == 0) return private(), 2;
    if (strcmp(held, "everything") == 0) {
        everything();
    } else if (strcmp(held, "deleted") == 0) {
        open("/data/file", O_RDWR | O_CREAT, 0600);
        unlink("/data/file");
        wait_for_host();
    } else if (strcmp(held, "reading") == 0) {
        open("/data/file", O_RDONLY);
        wait_for_host();
    } else if (strcmp(held, "writing") == 0) {
        open("/data/file", O_RDWR);
        wait_for_host();
    } else if (strcmp(held, "program") == 0) {
        char magic[4];
        int program = open("/proc/self/exe", O_RDONLY);
        read(program, magic, 1);
        wait_for_host();
        read(program, magic + 1, 3);
        printf("%.3s\n", magic + 1);
        fflush(stdout);
    } else if (strcmp(held, "elsewhere") == 0) {
        chdir("/data/sub");
        wait_for_host();
    } else if (strcmp(held, "high") == 0) {
        dup2(1, 100);
        wait_for_host();
    }
    return argc;
}
