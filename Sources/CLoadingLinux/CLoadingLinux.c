#define _GNU_SOURCE
#include "CLoadingLinux.h"

#include <pthread.h>

void cll_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

ssize_t cll_splice(int from, int to, size_t count) {
    ssize_t done;
    do done = splice(from, NULL, to, NULL, count, SPLICE_F_MOVE | SPLICE_F_NONBLOCK); while (done < 0 && errno == EINTR);
    return done;
}
