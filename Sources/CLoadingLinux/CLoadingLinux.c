#define _GNU_SOURCE
#include "CLoadingLinux.h"

#include <pthread.h>
#include <stdlib.h>

void cll_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

ssize_t cll_splice(int from, int to, size_t count) {
    ssize_t done;
    do done = splice(from, NULL, to, NULL, count, SPLICE_F_MOVE | SPLICE_F_NONBLOCK); while (done < 0 && errno == EINTR);
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
