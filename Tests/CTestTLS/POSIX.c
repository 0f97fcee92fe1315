#define _GNU_SOURCE

#include "CTestPOSIX.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int ctt_accept(int listener) {
    return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int ctt_pipe(int ends[2]) {
    return pipe2(ends, O_NONBLOCK | O_CLOEXEC);
}

void ctt_name_thread(const char *name) {
    char kept[16];
    snprintf(kept, sizeof kept, "%s", name);
    pthread_setname_np(pthread_self(), kept);
}

int ctt_make_network(void) {
    if (unshare(CLONE_NEWNET) != 0) return -1;
    return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

int ctt_enter_network(int network) {
    return setns(network, CLONE_NEWNET);
}

size_t ctt_allocated(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
