// Files below one folder, the world's disk: slow, full, read-only, broken or hanging. They are real; what is simulated is when a call
// returns and whether it fails. DiskImage.c notes what a power cut would leave of them.
#include "Disk.h"
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[PATH_MAX];
static size_t root_length;
static simulation_disk disk;
// The address at which calls wait while it hangs.
static int hanging;
static __thread int undisturbed;

void simulation_mount(const char *folder) {
    snprintf(root, sizeof root, "%s", folder);
    root_length = strlen(root);
    disk_image_begin(root);
}

void simulation_set_disk(simulation_disk wanted) {
    disk = wanted;
    static const char *const names[] = { "works", "is full", "is read-only", "is broken", "hangs" };
    kernel_note("the disk %s", names[wanted.state]);
    kernel_wake(&hanging, INT_MAX);
}

void simulation_begin_undisturbed(void) { undisturbed++; }
void simulation_end_undisturbed(void) { undisturbed--; }

// ---- which files

// The path without the root; NULL for what is not on the disk.
static const char *inside(const char *path) {
    if (root_length == 0 || !kernel_is_simulated() || path == NULL || strncmp(path, root, root_length) != 0) return NULL;
    return path[root_length] == '/' ? path + root_length + 1 : path[root_length] == 0 ? path + root_length : NULL;
}

bool disk_is_inside(const char *path) { return inside(path) != NULL; }

static const char *inside_folder(int folder, const char *path, char *buffer) {
    if (folder == AT_FDCWD || path[0] == '/') return snprintf(buffer, PATH_MAX, "%s", path) < PATH_MAX ? inside(buffer) : NULL;
    if (root_length == 0 || !kernel_is_simulated()) return NULL;
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, buffer, PATH_MAX - 1);
    if (length < 0 || (size_t)length + strlen(path) + 2 > PATH_MAX) return NULL;
    buffer[length] = '/';
    strcpy(buffer + length + 1, path);
    return inside(buffer);
}

static bool is_inside(int descriptor) {
    if (root_length == 0 || descriptor <= 2 || !kernel_is_simulated() || kernel_file(descriptor) != NULL) return false;
    struct stat status;
    return REAL(fstat)(descriptor, &status) == 0 && disk_image_has(&status);
}

// ---- what is wrong with the disk

enum effect { reads, changes, grows, synchronizes };

// Zero, or the error of the call.
static int disturbance(const char *call, enum effect effect) {
    kernel_step(call);
    if (undisturbed > 0) return 0;
    if (disk.state == simulation_disk_hangs) kernel_note("%s hangs", call);
    while (disk.state == simulation_disk_hangs && kernel_may_hand_over()) kernel_wait(&hanging, FOREVER, call);
    static int waiting;
    if (disk.latency > 0 && kernel_may_hand_over()) {
        simulation_time until = simulation_now() + (simulation_time)simulation_random((uint64_t)disk.latency);
        while (kernel_wait(&waiting, until, call)) continue;
    }
    int error = 0;
    switch (disk.state) {
    case simulation_disk_works:
    case simulation_disk_hangs: break;
    case simulation_disk_full: error = effect == grows ? ENOSPC : 0; break;
    case simulation_disk_read_only: error = effect == grows || effect == changes ? EROFS : 0; break;
    case simulation_disk_broken: error = simulation_random(disk.calls_per_error) == 0 ? EIO : 0; break;
    }
    if (error != 0) kernel_note("%s fails: %s", call, strerrorname_np(error));
    return error;
}

#define DISTURB(call, effect) do { \
    int error = disturbance(call, effect); \
    if (error != 0) { \
        errno = error; \
        return -1; \
    } \
} while (0)

bool disk_has_no_descriptor(void) {
    if (!disk.has_no_descriptor || undisturbed > 0) return false;
    kernel_note("no descriptor is left");
    errno = EMFILE;
    return true;
}

// ---- open

static bool exists(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0;
}

static int open_file(const char *path, int flags, mode_t mode) {
    const char *name = inside(path);
    if (name == NULL) {
        int descriptor;
        return system_file_open(path, &descriptor) ? descriptor : REAL(open)(path, flags, mode);
    }
    bool is_unnamed = (flags & __O_TMPFILE) == __O_TMPFILE, creates = is_unnamed || ((flags & O_CREAT) && !exists(path));
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    DISTURB("open", creates ? grows : writes && (disk.state == simulation_disk_read_only || (flags & O_TRUNC)) ? changes : reads);
    if (disk_has_no_descriptor()) return -1;
    // The latency may have let another thread create it.
    creates = is_unnamed || ((flags & O_CREAT) && !exists(path));
    int done = REAL(open)(path, flags, mode);
    int code = errno;
    if (done >= 0 && is_unnamed) disk_image_created(NULL, done);
    else if (done >= 0 && creates) disk_image_created(path, done);
    else if (done >= 0 && (flags & O_TRUNC)) disk_image_truncated(done, 0);
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

int openat(int folder, const char *path, int flags, ...) {
    MODE_OF(flags)
    char buffer[PATH_MAX];
    if (inside_folder(folder, path, buffer) == NULL) return REAL(openat)(folder, path, flags, mode);
    return open_file(buffer, flags, mode);
}

// The C library's own would open the file by itself, and its names are random.
int mkostemps(char *path, int suffix_length, int flags) {
    if (inside(path) == NULL) return REAL(mkostemps)(path, suffix_length, flags);
    char *place = path + strlen(path) - suffix_length - 6;
    for (int tries = 0; tries < 10000; tries++) {
        char name[7];
        snprintf(name, sizeof name, "%06x", (unsigned)simulation_random(0x1000000));
        memcpy(place, name, 6);
        int done = open_file(path, O_RDWR | O_CREAT | O_EXCL | flags, 0600);
        if (done >= 0 || errno != EEXIST) return done;
    }
    return -1;
}

int mkstemp(char *path) { return inside(path) == NULL ? REAL(mkstemp)(path) : mkostemps(path, 0, 0); }

// ---- content

ssize_t disk_read(int descriptor, void *bytes, size_t count) {
    if (is_inside(descriptor)) DISTURB("read", reads);
    return REAL(read)(descriptor, bytes, count);
}

static off_t size_of(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 ? status.st_size : 0;
}

// How much of it; less if the disk becomes full in between, as a first sign of it.
static ssize_t write_at(const char *call, int descriptor, const void *bytes, size_t count, off_t offset, bool is_placed) {
    bool appends = !is_placed && (REAL(fcntl)(descriptor, F_GETFL) & O_APPEND);
    if (!is_placed) offset = appends ? size_of(descriptor) : lseek(descriptor, 0, SEEK_CUR);
    int error = disturbance(call, offset + (off_t)count > size_of(descriptor) ? grows : changes);
    if (error == ENOSPC && count > 1 && simulation_random(2) == 0) {
        count = 1 + simulation_random(count - 1);
        error = 0;
    }
    if (error != 0) {
        errno = error;
        return -1;
    }
    // Another thread may have appended meanwhile.
    if (appends) offset = size_of(descriptor);
    ssize_t done = is_placed ? REAL(pwrite)(descriptor, bytes, count, offset) : REAL(write)(descriptor, bytes, count);
    int code = errno;
    if (done > 0) disk_image_written(descriptor, offset, bytes, (size_t)done);
    errno = code;
    return done;
}

ssize_t disk_write(int descriptor, const void *bytes, size_t count) {
    if (!is_inside(descriptor)) return REAL(write)(descriptor, bytes, count);
    return write_at("write", descriptor, bytes, count, 0, false);
}

// From a pipe of the real kernel, which does not show what it writes.
ssize_t disk_splice(int from, off64_t *from_place, int to, off64_t *to_place, size_t count, unsigned flags) {
    if (!is_inside(to)) return REAL(splice)(from, from_place, to, to_place, count, flags);
    off_t place = to_place != NULL ? *to_place : lseek(to, 0, SEEK_CUR);
    ssize_t done = REAL(splice)(from, from_place, to, to_place, count, flags);
    int code = errno;
    if (done > 0) {
        // The descriptor may be for writing only.
        char link[32];
        snprintf(link, sizeof link, "/proc/self/fd/%d", to);
        int file = REAL(open)(link, O_RDONLY | O_CLOEXEC);
        uint8_t *bytes = malloc((size_t)done);
        if (file >= 0 && REAL(pread)(file, bytes, (size_t)done, place) == done) disk_image_written(to, place, bytes, (size_t)done);
        free(bytes);
        if (file >= 0) REAL(close)(file);
    }
    errno = code;
    return done;
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
    if (is_inside(descriptor)) DISTURB("pread", reads);
    return REAL(pread)(descriptor, bytes, count, offset);
}

ssize_t pread64(int descriptor, void *bytes, size_t count, off64_t offset) { return pread(descriptor, bytes, count, offset); }

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    if (!is_inside(descriptor)) return REAL(pwrite)(descriptor, bytes, count, offset);
    return write_at("pwrite", descriptor, bytes, count, offset, true);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
    return pwrite(descriptor, bytes, count, offset);
}

int ftruncate(int descriptor, off_t length) {
    if (!is_inside(descriptor)) return REAL(ftruncate)(descriptor, length);
    DISTURB("ftruncate", changes);
    int done = REAL(ftruncate)(descriptor, length);
    if (done == 0) disk_image_truncated(descriptor, length);
    return done;
}

int ftruncate64(int descriptor, off64_t length) { return ftruncate(descriptor, length); }

static int synchronize(const char *call, int descriptor) {
    DISTURB(call, synchronizes);
    // The real disk keeps what it has anyway.
    disk_image_synchronized(descriptor);
    return 0;
}

int fsync(int descriptor) { return is_inside(descriptor) ? synchronize("fsync", descriptor) : REAL(fsync)(descriptor); }

int fdatasync(int descriptor) {
    return is_inside(descriptor) ? synchronize("fdatasync", descriptor) : REAL(fdatasync)(descriptor);
}

// As on a file system that cannot: the library copies by itself then.
ssize_t copy_file_range(int from, off64_t *from_place, int to, off64_t *to_place, size_t count, unsigned flags) {
    if (!is_inside(to)) return REAL(copy_file_range)(from, from_place, to, to_place, count, flags);
    errno = EXDEV;
    return -1;
}

// ---- names

int mkdir(const char *path, mode_t mode) {
    if (inside(path) == NULL) return REAL(mkdir)(path, mode);
    DISTURB("mkdir", grows);
    int done = REAL(mkdir)(path, mode);
    int code = errno;
    if (done == 0) disk_image_created(path, -1);
    errno = code;
    return done;
}

int mknod(const char *path, mode_t mode, dev_t device) {
    if (inside(path) == NULL) return REAL(mknod)(path, mode, device);
    DISTURB("mknod", grows);
    int done = REAL(mknod)(path, mode, device);
    int code = errno;
    if (done == 0) disk_image_created(path, -1);
    errno = code;
    return done;
}

static int remove_name(const char *call, const char *path, int (*remove)(const char *path)) {
    DISTURB(call, changes);
    int done = remove(path);
    int code = errno;
    if (done == 0) disk_image_removed(path);
    errno = code;
    return done;
}

// The mode of a simulated descriptor is not that of /dev/null.
int fchmod(int descriptor, mode_t mode) {
    return kernel_is_simulated() && kernel_file(descriptor) != NULL ? 0 : REAL(fchmod)(descriptor, mode);
}

int unlink(const char *path) {
    return inside(path) == NULL ? REAL(unlink)(path) : remove_name("unlink", path, REAL(unlink));
}

int rmdir(const char *path) { return inside(path) == NULL ? REAL(rmdir)(path) : remove_name("rmdir", path, REAL(rmdir)); }

int unlinkat(int folder, const char *path, int flags) {
    char buffer[PATH_MAX];
    if (inside_folder(folder, path, buffer) == NULL) return REAL(unlinkat)(folder, path, flags);
    return (flags & AT_REMOVEDIR) ? rmdir(buffer) : unlink(buffer);
}

int rename(const char *from, const char *to) {
    if (inside(from) == NULL || inside(to) == NULL) return REAL(rename)(from, to);
    DISTURB("rename", changes);
    int done = REAL(rename)(from, to);
    int code = errno;
    if (done == 0) disk_image_renamed(from, to);
    errno = code;
    return done;
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    char one[PATH_MAX], other[PATH_MAX];
    if (inside_folder(from_folder, from, one) == NULL || inside_folder(to_folder, to, other) == NULL)
        return REAL(renameat2)(from_folder, from, to_folder, to, flags);
    DISTURB("renameat2", changes);
    int done = REAL(renameat2)(from_folder, from, to_folder, to, flags);
    int code = errno;
    if (done == 0 && flags == RENAME_EXCHANGE) disk_image_exchanged(one, other);
    else if (done == 0) disk_image_renamed(one, other);
    errno = code;
    return done;
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    char buffer[PATH_MAX];
    if (inside_folder(to_folder, to, buffer) == NULL) return REAL(linkat)(from_folder, from, to_folder, to, flags);
    DISTURB("link", grows);
    int done = REAL(linkat)(from_folder, from, to_folder, to, flags);
    int code = errno;
    if (done == 0) disk_image_linked(buffer);
    errno = code;
    return done;
}

int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }
