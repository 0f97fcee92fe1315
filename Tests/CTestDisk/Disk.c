#define _GNU_SOURCE

#include "CTestDisk.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static char watched[4096];
static size_t watched_length;
static long fatal;
static int is_torn;
static atomic_long changes;

void ctd_kill_at(long change, const char *folder, int torn) {
    snprintf(watched, sizeof watched, "%s/", folder);
    watched_length = strlen(watched);
    fatal = change;
    is_torn = torn;
    atomic_store(&changes, 0);
}

long ctd_changes(void) { return atomic_load(&changes); }

static void die(void) {
    for (;;) kill(getpid(), SIGKILL);
}

// Whether this is the last change.
static int is_fatal(void) { return atomic_fetch_add(&changes, 1) + 1 == fatal; }

static int concerns_path(const char *path) {
    return watched_length != 0 && path != NULL && strncmp(path, watched, watched_length) == 0;
}

static int concerns(int descriptor) {
    if (watched_length == 0) return 0;
    char link[32], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return concerns_path(path);
}

static void change_path(const char *path) {
    if (concerns_path(path) && is_fatal()) die();
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    if (concerns(descriptor) && is_fatal()) {
        if (is_torn) syscall(SYS_write, descriptor, bytes, count / 2);
        die();
    }
    return syscall(SYS_write, descriptor, bytes, count);
}

static ssize_t write_at(int descriptor, const void *bytes, size_t count, off_t offset) {
    if (concerns(descriptor) && is_fatal()) {
        if (is_torn) syscall(SYS_pwrite64, descriptor, bytes, count / 2, offset);
        die();
    }
    return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    return write_at(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    return write_at(descriptor, bytes, count, offset);
}

int ftruncate(int descriptor, off_t length) {
    if (concerns(descriptor) && is_fatal()) die();
    return (int)syscall(SYS_ftruncate, descriptor, length);
}

int ftruncate64(int descriptor, off64_t length) { return ftruncate(descriptor, length); }

static int open_file(const char *path, int flags, mode_t mode) {
    if (flags & O_CREAT) change_path(path);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

#define MODE_OF(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | __O_TMPFILE)) { \
        va_list list; \
        va_start(list, flags); \
        mode = va_arg(list, mode_t); \
        va_end(list); \
    }

int open(const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_file(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE_OF(flags)
    return open_file(path, flags, mode);
}

int mknod(const char *path, mode_t mode, dev_t device) {
    change_path(path);
    return (int)syscall(SYS_mknodat, AT_FDCWD, path, mode, (unsigned)device);
}

int mkdir(const char *path, mode_t mode) {
    change_path(path);
    return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int unlink(const char *path) {
    change_path(path);
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int rename(const char *from, const char *to) {
    change_path(to);
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int link(const char *from, const char *to) {
    change_path(to);
    return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
