// Makes symbolic links in /w and its directories /w/a/b, and moves them.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show.h"

int main(void) {
    mkdir("/w/a", 0700);
    mkdir("/w/a/b", 0700);
    mkdir("/w/a/b/c", 0700);
    SHOW(symlink("/etc/shadow", "/w/innocent"));
    SHOW(symlink("/w/a", "/w/innocent"));
    SHOW(symlink("../secret", "/w/innocent"));
    SHOW(symlink("..", "/w/innocent"));
    SHOW(symlink("a/../../secret", "/w/innocent"));
    SHOW(symlink("a/b/../x", "/w/innocent"));
    SHOW(symlink(".", "/w/a/dot"));
    SHOW(symlink("dot/../../secret", "/w/a/innocent"));
    SHOW(symlink("../../x", "/w/a/b/up"));
    SHOW(symlink("../../../x", "/w/a/b/up3"));
    SHOW(symlink(".././../x", "/w/a/b/c/up"));
    // To where they would lead out.
    SHOW(rename("/w/a/b/up", "/w/a/up"));
    SHOW(rename("/w/a/b/up", "/w/a/b/c/up2"));
    SHOW(rename("/w/a/b/c/up2", "/w/a/b/up"));
    SHOW(link("/w/a/b/up", "/w/a/up"));
    SHOW(link("/w/a/b/up", "/w/a/b/c/up4"));
    SHOW(rename("/w/a/b", "/w/b"));
    SHOW(renameat2(AT_FDCWD, "/w/a", AT_FDCWD, "/w/a/b/c", RENAME_EXCHANGE));
    mkdir("/w/b", 0700);
    SHOW(renameat2(AT_FDCWD, "/w/b", AT_FDCWD, "/w/a/b", RENAME_EXCHANGE));
    SHOW(renameat2(AT_FDCWD, "/w/a/b", AT_FDCWD, "/w/b", RENAME_EXCHANGE));
    SHOW(unlink("/w/a/b/up"));
    SHOW(rename("/w/a/b", "/w/b"));
    // What the host has made stays, under its name.
    SHOW(rename("/w/absolute", "/w/innocent"));
    SHOW(link("/w/absolute", "/w/innocent"));
    SHOW(unlink("/w/absolute"));
    return 0;
}
