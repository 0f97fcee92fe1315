#define _GNU_SOURCE

#include "CTestPOSIX.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <malloc.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
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

void ctt_tell_traffic_class(int socket, int coalesces) {
    int on = 1;
    setsockopt(socket, IPPROTO_IP, IP_RECVTOS, &on, sizeof on);
    if (coalesces) setsockopt(socket, IPPROTO_UDP, 104 /* UDP_GRO */, &on, sizeof on);
}

long ctt_receive_datagram(int socket, void *bytes, unsigned long capacity, int *traffic_class) {
    struct iovec part = {.iov_base = bytes, .iov_len = capacity};
    _Alignas(struct cmsghdr) char control[256];
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t count = recvmsg(socket, &message, MSG_DONTWAIT);
    *traffic_class = 0;
    if (count < 0) return -1;
    for (struct cmsghdr *next = CMSG_FIRSTHDR(&message); next != NULL; next = CMSG_NXTHDR(&message, next))
        if (next->cmsg_level == IPPROTO_IP && next->cmsg_type == IP_TOS) *traffic_class = *CMSG_DATA(next);
    return count;
}

int ctt_capture_connections(unsigned short port) {
    struct sock_filter steps[] = {
        // Past the head of IPv4, whose length is in its first octet, the source port comes first in TCP and UDP.
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 5, 0),
        // SYN and ACK, from the server.
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 10),
        BPF_STMT(BPF_LD | BPF_B | BPF_IND, 13),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x12, 8, 7),
        // In either direction.
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 2, 0),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 3),
        // A long header of the type Initial (RFC 9000, 17.2.2). The bit between these may be greased (RFC 9287).
        BPF_STMT(BPF_LD | BPF_B | BPF_IND, 8),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xB0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x80, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, 0x40000),
    };
    struct sock_fprog filter = {.len = sizeof steps / sizeof *steps, .filter = steps};
    struct sockaddr_ll where = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP), .sll_ifindex = (int)if_nametoindex("lo")};
    // Nothing comes before it is bound, so the filter misses nothing.
    int capture = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (capture < 0) return -1;
    if (setsockopt(capture, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0
        || bind(capture, (struct sockaddr *)&where, sizeof where) != 0) {
        close(capture);
        return -1;
    }
    return capture;
}

int ctt_count_missed(int capture) {
    struct tpacket_stats stats;
    socklen_t length = sizeof stats;
    if (getsockopt(capture, SOL_PACKET, PACKET_STATISTICS, &stats, &length) != 0) return -1;
    return (int)stats.tp_drops;
}

size_t ctt_allocated(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
