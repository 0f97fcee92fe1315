// The status of the files on the world's disk: their times are those of the simulated wall clock. The library compares them, to find out
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

// The library gives copies the times of their originals.
int futimens(int descriptor, const struct timespec times[2]) {
    struct stat status;
    bool is_given = kernel_is_simulated() && times != NULL && times[1].tv_nsec < 1000000000
        && REAL(fstat)(descriptor, &status) == 0 && disk_image_give_time(&status, &times[1]);
    return is_given ? 0 : REAL(futimens)(descriptor, times);
}

// The same structure here.
int stat64(const char *restrict path, struct stat64 *restrict status) { return stat(path, (struct stat *)status); }
int lstat64(const char *restrict path, struct stat64 *restrict status) { return lstat(path, (struct stat *)status); }
int fstat64(int descriptor, struct stat64 *status) { return fstat(descriptor, (struct stat *)status); }
int fstatat64(int folder, const char *restrict path, struct stat64 *restrict status, int flags) {
    return fstatat(folder, path, (struct stat *)status, flags);
}
