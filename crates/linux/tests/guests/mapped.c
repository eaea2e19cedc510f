// What can be done to a shared mapping, by the first argument.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show.h"

enum { PAGE = 4096 };

static char *map(int fd, long pages) {
    return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static int file_of(long pages) {
    int fd = memfd_create("file", 0);
    ftruncate(fd, pages * PAGE);
    return fd;
}

// Cuts a mapping into as many pieces as it can.
static void pieces(void) {
    int fd = file_of(400);
    char *all = map(fd, 400);
    all[0] = 'a';
    int holes = 0;
    while (holes < 190 && munmap(all + (2 * holes + 1) * PAGE, PAGE) == 0) holes++;
    printf("%d holes: %s\n", holes, strerror(errno));
    char *middle = all + (2 * holes + 2) * PAGE;
    *middle = 'm';
    SHOW(mmap(middle, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    SHOW(mremap(middle, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
    char *other = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(mremap(other, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, middle));
    printf("still %c\n", *middle);
    // An edge makes no piece more.
    SHOW(munmap(all + 399 * PAGE, PAGE));
    SHOW(munmap(all + (2 * holes + 1) * PAGE, (399 - 2 * holes - 1) * PAGE));
    SHOW(map(fd, 1) == MAP_FAILED);
    char in_file[2] = "";
    pread(fd, in_file, 1, (2 * holes + 2) * PAGE);
    printf("file: %s\n", in_file);
}

static char text[20];

static const char *in_file(int fd, long at) {
    ssize_t len = pread(fd, text, 8, at);
    text[len < 0 ? 0 : len] = 0;
    return text;
}

// Calls that change a part leave alone what is stored in others.
static void parts(void) {
    int fd = file_of(8), from = file_of(1);
    char *all = map(fd, 8);
    for (int i = 0; i < 8; i++) strcpy(all + i * PAGE + 100, "stored");
    pwrite(from, "copied", 6, 0);
    off_t start = 0, to = PAGE + 200;
    SHOW(copy_file_range(from, &start, fd, &to, 6, 0));
    SHOW(lseek(fd, 2 * PAGE + 200, SEEK_SET));
    start = 0;
    SHOW(sendfile(fd, from, &start, 6));
    printf("%s %s\n", all + PAGE + 200, all + 2 * PAGE + 200);
    SHOW(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2 * PAGE + 102, 3 * PAGE));
    printf("%s [%s] [%s]\n", all + 2 * PAGE + 100, all + 3 * PAGE + 100, all + 5 * PAGE + 102);
    SHOW(fallocate(fd, 0, 7 * PAGE, 2 * PAGE));
    SHOW(ftruncate(fd, 6 * PAGE + 102));
    printf("%s\n", all + 6 * PAGE + 100);
    SHOW(ftruncate(fd, 8 * PAGE));
    printf("%s [%s]\n", all + 6 * PAGE + 100, all + 7 * PAGE + 100);
    for (int i = 0; i < 8; i++) printf("%s\n", in_file(fd, i * PAGE + 100));
    char name[40];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    int appending = open(name, O_RDWR | O_APPEND);
    ftruncate(fd, PAGE + 100);
    strcpy(all, "kept");
    SHOW(pwrite(appending, "appended", 8, 0));
    SHOW(write(appending, " twice", 6));
    printf("%s %s %s\n", all, all + PAGE + 100, in_file(fd, 0));
    close(open(name, O_WRONLY | O_TRUNC));
    SHOW(ftruncate(fd, PAGE));
    printf("[%s] [%s]\n", all, in_file(fd, 0));
}

// Moving and growing mappings.
static void moves(void) {
    int fd = file_of(40), other = file_of(3);
    char *one = map(fd, 3), *two = map(other, 3);
    strcpy(one, "start");
    strcpy(one + PAGE, "second");
    strcpy(two + PAGE, "replaced");
    pwrite(fd, "far", 3, 30 * PAGE);
    pwrite(fd, "end", 3, 40 * PAGE - 3);
    one = mremap(one, 3 * PAGE, 40 * PAGE, MREMAP_MAYMOVE);
    printf("%s %s %s %.3s\n", one, one + PAGE, one + 30 * PAGE, one + 40 * PAGE - 3);
    strcpy(one + 20 * PAGE, "later");
    printf("%s\n", in_file(fd, 20 * PAGE));
    // In the middle of another one.
    strcpy(one + 2 * PAGE, "moved");
    char *moved = mremap(one + 2 * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, two + PAGE);
    strcpy(two + 2 * PAGE, "behind");
    SHOW(moved == two + PAGE);
    printf("%s %s %s\n", moved, in_file(other, PAGE), two + 2 * PAGE);
    printf("%s %s\n", in_file(fd, 2 * PAGE), in_file(other, 2 * PAGE));
    // The end goes, wherever the start is.
    strcpy(one + 10 * PAGE, "goes");
    one = mremap(one + 3 * PAGE, 37 * PAGE, 3 * PAGE, MREMAP_MAYMOVE);
    strcpy(one + PAGE, "fifth");
    printf("%s %s\n", in_file(fd, 10 * PAGE), in_file(fd, 4 * PAGE));
    char *place = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    strcpy(one + 2 * PAGE, "gone");
    SHOW(mremap(one, 3 * PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place);
    printf("%s %s\n", in_file(fd, 5 * PAGE), in_file(fd, 4 * PAGE));
}

// Stores for which there is no room.
static void full(void) {
    int fd = file_of(4000), other = file_of(1);
    char *all = map(fd, 4000);
    for (int i = 0; i < 4000; i++) all[i * PAGE] = 'x';
    SHOW(msync(all, 4000 * PAGE, MS_SYNC));
    SHOW(munmap(all, 2000 * PAGE));
    SHOW(mmap(all + 2000 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == all + 2000 * PAGE);
    SHOW(munmap(all, 4000 * PAGE));
    SHOW(ftruncate(fd, 0));
    SHOW(pwrite(other, "room", 4, 0));
}

// Beyond what a file can have.
static void far(void) {
    int fd = file_of(1);
    char *last = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0x7fffffffffffe000);
    SHOW(last != MAP_FAILED);
    SHOW(mremap(last, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
    SHOW(munmap(last, PAGE));
}

// Memory, and the room in a file that what is stored takes, are as much together as the guest may have.
static void room(void) {
    enum { PAGES = 2304 };
    int fd = file_of(PAGES);
    char *all = map(fd, PAGES);
    for (int i = 0; i < PAGES; i++) all[i * PAGE] = 'x';
    SHOW(mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
    SHOW(munmap(all, PAGES * PAGE));
    SHOW(mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) != MAP_FAILED);
}

int main(int argc, char **argv) {
    const char *what = argv[1];
    if (strcmp(what, "pieces") == 0) pieces();
    if (strcmp(what, "parts") == 0) parts();
    if (strcmp(what, "moves") == 0) moves();
    if (strcmp(what, "full") == 0) full();
    if (strcmp(what, "far") == 0) far();
    if (strcmp(what, "room") == 0) room();
    fflush(stdout);
    return 0;
}
