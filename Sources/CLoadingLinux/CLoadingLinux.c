#define _GNU_SOURCE
#include "CLoadingLinux.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

void cll_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

ssize_t cll_splice(int from, int to, size_t count) {
    ssize_t done;
    do done = splice(from, NULL, to, NULL, count, SPLICE_F_MOVE | SPLICE_F_NONBLOCK); while (done < 0 && errno == EINTR);
    return done;
}

ssize_t cll_splice_file(int file, int64_t offset, int pipe, size_t count) {
    ssize_t done;
    do {
        loff_t place = offset;
        done = splice(file, &place, pipe, NULL, count, SPLICE_F_MOVE);
    } while (done < 0 && errno == EINTR);
    return done;
}

// splice has no MSG_NOSIGNAL. The signal goes to the thread that made the call, so it is held back for the call and
// taken away after it, unless one was on its way before.
ssize_t cll_splice_to_socket(int pipe, int socket, size_t count) {
    sigset_t broken, before, pending;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    sigpending(&pending);
    ssize_t done = cll_splice(pipe, socket, count);
    int code = errno;
    // Also when some of it went before the peer was found gone.
    if (done < (ssize_t)count && !sigismember(&pending, SIGPIPE)) {
        struct timespec now = { 0 };
        while (sigtimedwait(&broken, NULL, &now) < 0 && errno == EINTR) {}
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = code;
    return done;
}

int cll_pipe(int *exit, int *entrance) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    *exit = ends[0];
    *entrance = ends[1];
    return 0;
}

int cll_set_pipe_capacity(int pipe, int bytes) { return fcntl(pipe, F_SETPIPE_SZ, bytes); }

int cll_make_file(char *path, int suffix_length) { return mkostemps(path, suffix_length, O_CLOEXEC); }

int cll_open_place(const char *path) { return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC); }

int cll_set_mode_of_place(int place, mode_t mode) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", place);
    return chmod(path, mode);
}
