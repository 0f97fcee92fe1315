#define _GNU_SOURCE

#include "CTestDisk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char watched[4096];
static size_t watched_length;
static long fatal;
static int is_torn;
static atomic_long changes;
static int record = -1;
static pthread_mutex_t record_lock = PTHREAD_MUTEX_INITIALIZER;

static int is_recorded(void) { return record >= 0; }

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
    if (!is_recorded() && concerns_path(path) && is_fatal()) die();
}

// ---- Recording

enum { CREATED = 1, WRITTEN, TRUNCATED, RENAMED, UNLINKED, FOLDER_MADE, SYNCHRONIZED, MARKED };

// Two pieces of bytes follow the head: content, or paths in the folder.
static void put(int64_t kind, int64_t inode, int64_t value, const void *first, size_t first_length, const char *second) {
    int64_t head[] = { kind, inode, value, (int64_t)first_length, second == NULL ? 0 : (int64_t)strlen(second) };
    struct iovec parts[] = {
        { head, sizeof head }, { (void *)first, first_length }, { (void *)second, (size_t)head[4] },
    };
    syscall(SYS_writev, record, parts, 3);
}

// A file system may give the inode of a file that was removed to a new one, which is another file in the record.
static struct { ino_t inode; int64_t times; } used[4096];
static size_t used_count;

static int64_t number_of(ino_t inode, int is_new) {
    size_t index = 0;
    while (index < used_count && used[index].inode != inode) index++;
    if (index == sizeof used / sizeof *used) die();
    if (index == used_count) {
        used[index].inode = inode;
        used_count++;
    } else if (is_new) {
        used[index].times++;
    }
    return (int64_t)inode + (used[index].times << 48);
}

static int64_t inode_of(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 ? number_of(status.st_ino, 0) : 0;
}

static int64_t inode_at(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0 ? number_of(status.st_ino, 0) : 0;
}

// Once for each file, under the lock.
static void note_new(const char *path) {
    struct stat status;
    if (lstat(path, &status) == 0) number_of(status.st_ino, 1);
}

// Of the folder with that entry, whose names are written when it is synchronized.
static int64_t folder_of(const char *path) {
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash != NULL) *slash = 0;
    return inode_at(folder);
}

static void put_name(int64_t kind, const char *path, const char *second) {
    const char *inside = path + watched_length;
    put(kind, inode_at(path), folder_of(path), inside, strlen(inside), second);
}

void ctd_record(const char *folder, const char *log) {
    snprintf(watched, sizeof watched, "%s/", folder);
    watched_length = strlen(watched);
    record = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

void ctd_mark(long number) {
    pthread_mutex_lock(&record_lock);
    if (is_recorded()) put(MARKED, 0, number, NULL, 0, NULL);
    pthread_mutex_unlock(&record_lock);
}

static ssize_t record_write(int descriptor, const void *bytes, size_t count, off_t offset, int is_placed) {
    pthread_mutex_lock(&record_lock);
    if (!is_placed) offset = lseek(descriptor, 0, fcntl(descriptor, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
    ssize_t done = is_placed ? syscall(SYS_pwrite64, descriptor, bytes, count, offset)
                             : syscall(SYS_write, descriptor, bytes, count);
    int code = errno;
    if (done > 0) put(WRITTEN, inode_of(descriptor), offset, bytes, (size_t)done, NULL);
    pthread_mutex_unlock(&record_lock);
    errno = code;
    return done;
}

static int record_sync(int descriptor, long number) {
    pthread_mutex_lock(&record_lock);
    int done = (int)syscall(number, descriptor);
    if (done == 0) put(SYNCHRONIZED, inode_of(descriptor), 0, NULL, 0, NULL);
    pthread_mutex_unlock(&record_lock);
    return done;
}

// The folder itself is watched too.
static int concerns_sync(int descriptor) {
    char link[32], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = is_recorded() ? readlink(link, path, sizeof path - 2) : -1;
    if (length < 0) return 0;
    path[length] = '/';
    path[length + 1] = 0;
    return concerns_path(path);
}

int fsync(int descriptor) {
    return concerns_sync(descriptor) ? record_sync(descriptor, SYS_fsync) : (int)syscall(SYS_fsync, descriptor);
}

int fdatasync(int descriptor) {
    return concerns_sync(descriptor) ? record_sync(descriptor, SYS_fdatasync) : (int)syscall(SYS_fdatasync, descriptor);
}

// ---- The changes

ssize_t write(int descriptor, const void *bytes, size_t count) {
    if (concerns(descriptor)) {
        if (is_recorded()) return record_write(descriptor, bytes, count, 0, 0);
        if (is_fatal()) {
            if (is_torn) syscall(SYS_write, descriptor, bytes, count / 2);
            die();
        }
    }
    return syscall(SYS_write, descriptor, bytes, count);
}

static ssize_t write_at(int descriptor, const void *bytes, size_t count, off_t offset) {
    if (concerns(descriptor)) {
        if (is_recorded()) return record_write(descriptor, bytes, count, offset, 1);
        if (is_fatal()) {
            if (is_torn) syscall(SYS_pwrite64, descriptor, bytes, count / 2, offset);
            die();
        }
    }
    return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    return write_at(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    return write_at(descriptor, bytes, count, offset);
}

// The bytes do not pass through the process, so they are read again from the file.
static void put_spliced(int descriptor, off_t offset, size_t count) {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    int file = (int)syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return;
    char bytes[16384];
    while (count > 0) {
        ssize_t read = pread(file, bytes, count < sizeof bytes ? count : sizeof bytes, offset);
        if (read <= 0) break;
        put(WRITTEN, inode_of(descriptor), offset, bytes, (size_t)read, NULL);
        offset += read;
        count -= (size_t)read;
    }
    syscall(SYS_close, file);
}

ssize_t splice(int from, off64_t *from_place, int to, off64_t *to_place, size_t count, unsigned flags) {
    if (!concerns(to)) return syscall(SYS_splice, from, from_place, to, to_place, count, flags);
    if (!is_recorded() && is_fatal()) die();
    pthread_mutex_lock(&record_lock);
    off_t offset = to_place != NULL ? *to_place : lseek(to, 0, SEEK_CUR);
    ssize_t done = syscall(SYS_splice, from, from_place, to, to_place, count, flags);
    int code = errno;
    if (done > 0 && is_recorded()) put_spliced(to, offset, (size_t)done);
    pthread_mutex_unlock(&record_lock);
    errno = code;
    return done;
}

int ftruncate(int descriptor, off_t length) {
    if (!concerns(descriptor)) return (int)syscall(SYS_ftruncate, descriptor, length);
    if (!is_recorded() && is_fatal()) die();
    pthread_mutex_lock(&record_lock);
    int done = (int)syscall(SYS_ftruncate, descriptor, length);
    if (done == 0 && is_recorded()) put(TRUNCATED, inode_of(descriptor), length, NULL, 0, NULL);
    pthread_mutex_unlock(&record_lock);
    return done;
}

int ftruncate64(int descriptor, off64_t length) { return ftruncate(descriptor, length); }

static int open_file(const char *path, int flags, mode_t mode) {
    if (flags & O_CREAT) change_path(path);
    if (!is_recorded() || !concerns_path(path)) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    pthread_mutex_lock(&record_lock);
    int is_new = inode_at(path) == 0;
    int done = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    int code = errno;
    if (done >= 0 && is_new) {
        note_new(path);
        put_name(CREATED, path, NULL);
    } else if (done >= 0 && flags & O_TRUNC) {
        put(TRUNCATED, inode_of(done), 0, NULL, 0, NULL);
    }
    pthread_mutex_unlock(&record_lock);
    errno = code;
    return done;
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

// The C library's own would open the file by itself.
int mkostemps(char *path, int suffix_length, int flags) {
    static atomic_uint number;
    char *place = path + strlen(path) - suffix_length - 6;
    for (int tries = 0; tries < 10000; tries++) {
        char name[7];
        snprintf(name, sizeof name, "%06x", atomic_fetch_add(&number, 1) & 0xFFFFFF);
        memcpy(place, name, 6);
        int done = open_file(path, O_RDWR | O_CREAT | O_EXCL | flags, 0600);
        if (done >= 0 || errno != EEXIST) return done;
    }
    return -1;
}

int mknod(const char *path, mode_t mode, dev_t device) {
    change_path(path);
    pthread_mutex_lock(&record_lock);
    int done = (int)syscall(SYS_mknodat, AT_FDCWD, path, mode, (unsigned)device);
    int code = errno;
    if (done == 0 && is_recorded() && concerns_path(path)) {
        note_new(path);
        put_name(CREATED, path, NULL);
    }
    pthread_mutex_unlock(&record_lock);
    errno = code;
    return done;
}

int mkdir(const char *path, mode_t mode) {
    change_path(path);
    pthread_mutex_lock(&record_lock);
    int done = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    int code = errno;
    if (done == 0 && is_recorded() && concerns_path(path)) {
        note_new(path);
        put_name(FOLDER_MADE, path, NULL);
    }
    pthread_mutex_unlock(&record_lock);
    errno = code;
    return done;
}

int unlink(const char *path) {
    change_path(path);
    pthread_mutex_lock(&record_lock);
    int done = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    int code = errno;
    if (done == 0 && is_recorded() && concerns_path(path)) put_name(UNLINKED, path, NULL);
    pthread_mutex_unlock(&record_lock);
    errno = code;
    return done;
}

int rename(const char *from, const char *to) {
    change_path(to);
    pthread_mutex_lock(&record_lock);
    int done = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    int code = errno;
    if (done == 0 && is_recorded() && concerns_path(to)) put_name(RENAMED, to, from + watched_length);
    pthread_mutex_unlock(&record_lock);
    errno = code;
    return done;
}

int link(const char *from, const char *to) {
    change_path(to);
    pthread_mutex_lock(&record_lock);
    int done = (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    int code = errno;
    if (done == 0 && is_recorded() && concerns_path(to)) put_name(CREATED, to, NULL);
    pthread_mutex_unlock(&record_lock);
    errno = code;
    return done;
}
