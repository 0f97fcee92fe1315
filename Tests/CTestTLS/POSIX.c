#define _GNU_SOURCE

#include "CTestPOSIX.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
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

int ctt_leave_network(void) {
    return unshare(CLONE_NEWNET);
}

static int set_address(int control, struct ifreq *request, int name, uint32_t address) {
    struct sockaddr_in *in = (struct sockaddr_in *)&request->ifr_addr;
    memset(in, 0, sizeof *in);
    in->sin_family = AF_INET;
    in->sin_addr.s_addr = htonl(address);
    return ioctl(control, name, request);
}

static int set_up(int control, struct ifreq *request, int up) {
    if (ioctl(control, SIOCGIFFLAGS, request) != 0) return -1;
    request->ifr_flags = (short)(up ? request->ifr_flags | IFF_UP : request->ifr_flags & ~IFF_UP);
    return ioctl(control, SIOCSIFFLAGS, request);
}

int ctt_set_loopback(int up) {
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0) return -1;
    struct ifreq request;
    memset(&request, 0, sizeof request);
    strcpy(request.ifr_name, "lo");
    // An interface that is down still swallows what is sent to an address of its own, so that goes too.
    int result = up ? set_up(control, &request, 1) == 0
                       && set_address(control, &request, SIOCSIFADDR, INADDR_LOOPBACK) == 0
                       && set_address(control, &request, SIOCSIFNETMASK, 0xFF000000) == 0
                    : set_address(control, &request, SIOCSIFADDR, 0) == 0 && set_up(control, &request, 0) == 0;
    close(control);
    return result ? 0 : -1;
}

int ctt_add_loopback_address(uint32_t address) {
    int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (control < 0) return -1;
    struct ifreq request;
    memset(&request, 0, sizeof request);
    // A second address has a label of its own.
    strcpy(request.ifr_name, "lo:1");
    int result = set_address(control, &request, SIOCSIFADDR, address);
    close(control);
    return result;
}
