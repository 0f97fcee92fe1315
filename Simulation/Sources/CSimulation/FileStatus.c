// What is told of the files on the world's disk: their times are those of the simulated wall clock. The library compares them, to find out
// whether a file is another one, and how long it has been there.
#include "Disk.h"
#include "Kernel.h"
#include <fcntl.h>
#include <sys/stat.h>

static int with_times(int done, struct stat *status) {
    if (done == 0 && kernel_is_simulated()) disk_image_set_times(status);
    return done;
}

int stat(const char *restrict path, struct stat *restrict status) { return with_times(REAL(stat)(path, status), status); }
int lstat(const char *restrict path, struct stat *restrict status) { return with_times(REAL(lstat)(path, status), status); }
int fstat(int descriptor, struct stat *status) { return with_times(REAL(fstat)(descriptor, status), status); }
int fstatat(int folder, const char *restrict path, struct stat *restrict status, int flags) {
    return with_times(REAL(fstatat)(folder, path, status, flags), status);
}

// The same structure here.
int stat64(const char *restrict path, struct stat64 *restrict status) { return stat(path, (struct stat *)status); }
int lstat64(const char *restrict path, struct stat64 *restrict status) { return lstat(path, (struct stat *)status); }
int fstat64(int descriptor, struct stat64 *status) { return fstat(descriptor, (struct stat *)status); }
int fstatat64(int folder, const char *restrict path, struct stat64 *restrict status, int flags) {
    return fstatat(folder, path, (struct stat *)status, flags);
}
