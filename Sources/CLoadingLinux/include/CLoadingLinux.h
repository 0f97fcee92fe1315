// What Swift's Glibc module lacks (epoll, eventfd, accept4, splice, netlink, futex,
// getrandom) or cannot import (macros,
// variadic calls). Everything is `static inline`, so that a call costs what the system call costs.
#ifndef C_LOADING_LINUX_H
#define C_LOADING_LINUX_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// ---- errno of the last call, read before Swift's runtime can change it

static inline int cll_errno(void) { return errno; }

// ---- fork

// Has processes that are forked off from now on know that they are. `before` is called by the thread that forks, before it does,
// and `after` when it has: in both processes; the argument says whether it is the new one. What counts is the first call.
void cll_watch_forks(void (*before)(void), void (*after)(_Bool is_child));
extern _Bool cll_was_forked;
static inline _Bool cll_is_forked(void) { return __atomic_load_n(&cll_was_forked, __ATOMIC_RELAXED); }

// ---- epoll

// A plain struct with the same content as epoll_event, whose data union the importer shows as five members.
typedef struct { uint32_t events; uint64_t token; } cll_ready;

static inline int cll_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static inline int cll_epoll_add(int poll, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event = { .events = events, .data = { .u64 = token } };
    return epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event);
}

static inline int cll_epoll_remove(int poll, int descriptor) {
    struct epoll_event event = { 0 };
    return epoll_ctl(poll, EPOLL_CTL_DEL, descriptor, &event);
}

// Waits until something is ready or `timeout` nanoseconds have passed (negative: for ever; 0: not at all).
static inline int cll_epoll_wait(int poll, struct epoll_event *events, int capacity, int64_t timeout) {
    if (timeout <= 0) return epoll_wait(poll, events, capacity, timeout < 0 ? -1 : 0);
    int64_t milliseconds = (timeout + 999999) / 1000000;
    return epoll_wait(poll, events, capacity, milliseconds > INT_MAX ? INT_MAX : (int)milliseconds);
}

static inline uint64_t cll_event_token(const struct epoll_event *event) { return event->data.u64; }

#define CLL_EDGE ((uint32_t)EPOLLET)
static inline uint32_t cll_edge_triggered(void) { return (uint32_t)(EPOLLIN | EPOLLOUT | EPOLLRDHUP) | CLL_EDGE; }
static inline uint32_t cll_level_input(void) { return (uint32_t)EPOLLIN; }
static inline uint32_t cll_readable_bits(void) { return EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR; }
static inline uint32_t cll_writable_bits(void) { return EPOLLOUT | EPOLLHUP | EPOLLERR; }
static inline uint32_t cll_hangup_bits(void) { return EPOLLRDHUP | EPOLLHUP | EPOLLERR; }

// ---- eventfd

static inline int cll_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
static inline void cll_eventfd_signal(int descriptor) {
    uint64_t one = 1;
    ssize_t done;
    do done = write(descriptor, &one, sizeof one); while (done < 0 && errno == EINTR);
}
static inline void cll_eventfd_clear(int descriptor) {
    uint64_t count;
    ssize_t done;
    do done = read(descriptor, &count, sizeof count); while (done < 0 && errno == EINTR);
}

// ---- sockets

static inline int cll_socket(int family, int type, int protocol) {
    return socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
}
// A socket for TCP, over several subflows (MPTCP) if that is wanted and the kernel supports it.
static inline int cll_stream_socket(int family, int is_multipath) {
    int done = is_multipath ? cll_socket(family, SOCK_STREAM, 262 /* IPPROTO_MPTCP */) : -1;
    return done >= 0 ? done : cll_socket(family, SOCK_STREAM, 0);
}
// Whether both ends have agreed on MPTCP. If they have not, the kernel has gone back to TCP, and does not know the
// option. (MPTCP_INFO)
static inline int cll_is_multipath(int descriptor) {
    uint8_t information[256];
    socklen_t length = sizeof information;
    return getsockopt(descriptor, 284 /* SOL_MPTCP */, 1, information, &length) == 0;
}
// The local addresses of the subflows of an MPTCP connection. Returns their number, of which at most `most` are written, or -1
// if the kernel does not report them. (MPTCP_SUBFLOW_ADDRS)
int cll_local_addresses_of_subflows(int descriptor, struct sockaddr_storage *addresses, int most);
// `value` has the six bits of a traffic class.
static inline int cll_traffic_class(int descriptor, int is_ipv6, int value) {
    int octet = value << 2;
    return is_ipv6 ? setsockopt(descriptor, IPPROTO_IPV6, IPV6_TCLASS, &octet, sizeof octet)
                   : setsockopt(descriptor, IPPROTO_IP, IP_TOS, &octet, sizeof octet);
}
static inline ssize_t cll_send(int descriptor, const void *bytes, size_t count) {
    ssize_t done;
    do done = send(descriptor, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT); while (done < 0 && errno == EINTR);
    return done;
}
static inline ssize_t cll_sendv(int descriptor, const struct iovec *parts, int count) {
    struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count };
    ssize_t done;
    do done = sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT); while (done < 0 && errno == EINTR);
    return done;
}
static inline ssize_t cll_recv(int descriptor, void *bytes, size_t count) {
    ssize_t done;
    do done = recv(descriptor, bytes, count, MSG_DONTWAIT); while (done < 0 && errno == EINTR);
    return done;
}
// Whether the peer of an idle connection is still there and silent: 1 silent, 0 closed or it has sent something.
static inline int cll_is_silent(int descriptor) {
    char byte;
    ssize_t done;
    do done = recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT); while (done < 0 && errno == EINTR);
    return done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}
static inline int cll_no_delay(int descriptor) {
    int on = 1;
    return setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}
static inline int cll_socket_error(int descriptor) {
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
    return error;
}
// Has a connected UDP socket report which marks of congestion datagrams came with (RFC 3168), put those of one size
// together, and send none in fragments. Older kernels may know less of that; then datagrams come one by one.
static inline void cll_datagram_options(int descriptor, int is_ipv6, int buffer_size) {
    int on = 1;
    int probe = is_ipv6 ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE;
    if (is_ipv6) {
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof on);
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe, sizeof probe);
    } else {
        setsockopt(descriptor, IPPROTO_IP, IP_RECVTOS, &on, sizeof on);
        setsockopt(descriptor, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof probe);
    }
    setsockopt(descriptor, SOL_UDP, UDP_GRO, &on, sizeof on);
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &buffer_size, sizeof buffer_size);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &buffer_size, sizeof buffer_size);
}
// Datagrams of one size that have come one after the other, the last of which may be shorter. 0 is a datagram with nothing
// in it. `mark` has two bits.
static inline ssize_t cll_receive_datagrams(
    int descriptor, void *bytes, size_t capacity, size_t *segment, uint8_t *mark) {
    struct iovec part = { .iov_base = bytes, .iov_len = capacity };
    union { char bytes[CMSG_SPACE(sizeof(int)) * 4]; struct cmsghdr aligned; } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes,
    };
    ssize_t done;
    do done = recvmsg(descriptor, &message, MSG_DONTWAIT); while (done < 0 && errno == EINTR);
    if (done < 0) return done;
    *segment = (size_t)done;
    *mark = 0;
    for (struct cmsghdr *next = CMSG_FIRSTHDR(&message); next != NULL; next = CMSG_NXTHDR(&message, next)) {
        int value = 0;
        if (next->cmsg_level == IPPROTO_IP && next->cmsg_type == IP_TOS) {
            *mark = *(uint8_t *)CMSG_DATA(next) & 3;
        } else if (next->cmsg_level == IPPROTO_IPV6 && next->cmsg_type == IPV6_TCLASS) {
            memcpy(&value, CMSG_DATA(next), sizeof value);
            *mark = (uint8_t)(value & 3);
        } else if (next->cmsg_level == SOL_UDP && next->cmsg_type == UDP_GRO) {
            memcpy(&value, CMSG_DATA(next), sizeof value);
            if (value > 0) *segment = (size_t)value;
        }
    }
    return done;
}
// Sends the bytes as datagrams of `segment` bytes each, the last of which may be shorter, with those marks.
static inline ssize_t cll_send_datagrams(
    int descriptor, int is_ipv6, const void *bytes, size_t count, size_t segment, uint8_t mark) {
    struct iovec part = { .iov_base = (void *)bytes, .iov_len = count };
    union { char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(uint16_t))]; struct cmsghdr aligned; } control;
    memset(&control, 0, sizeof control);
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes,
    };
    struct cmsghdr *next = CMSG_FIRSTHDR(&message);
    int value = mark;
    next->cmsg_level = is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP;
    next->cmsg_type = is_ipv6 ? IPV6_TCLASS : IP_TOS;
    next->cmsg_len = CMSG_LEN(sizeof value);
    memcpy(CMSG_DATA(next), &value, sizeof value);
    message.msg_controllen = CMSG_SPACE(sizeof value);
    if (segment < count) {
        uint16_t size = (uint16_t)segment;
        next = CMSG_NXTHDR(&message, next);
        if (next == NULL) next = (struct cmsghdr *)(control.bytes + CMSG_SPACE(sizeof value));
        next->cmsg_level = SOL_UDP;
        next->cmsg_type = UDP_SEGMENT;
        next->cmsg_len = CMSG_LEN(sizeof size);
        memcpy(CMSG_DATA(next), &size, sizeof size);
        message.msg_controllen = CMSG_SPACE(sizeof value) + CMSG_SPACE(sizeof size);
    }
    ssize_t done;
    do done = sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT); while (done < 0 && errno == EINTR);
    return done;
}

// How many bytes the peer of a TCP connection has taken; 0 where the kernel does not say.
static inline uint64_t cll_bytes_taken(int descriptor) {
    // The beginning of the kernel's tcp_info (linux/tcp.h); glibc's own ends before the counts.
    struct {
        uint8_t bits[8];
        uint32_t numbers[24];
        uint64_t pacing_rate, max_pacing_rate, bytes_acked;
    } information = { 0 };
    socklen_t length = sizeof information;
    return getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &information, &length) == 0 ? information.bytes_acked : 0;
}
// How many bytes the kernel holds that the peer of a TCP socket has not acknowledged, unsent ones too; or -1.
int64_t cll_outgoing(int descriptor);
static inline int cll_connect(int descriptor, const struct sockaddr_storage *address, socklen_t length) {
    int done;
    do done = connect(descriptor, (const struct sockaddr *)address, length); while (done < 0 && errno == EINTR);
    return done;
}
static inline int cll_getsockname(int descriptor, struct sockaddr_storage *address, socklen_t *length) {
    return getsockname(descriptor, (struct sockaddr *)address, length);
}
static inline int cll_getpeername(int descriptor, struct sockaddr_storage *address, socklen_t *length) {
    return getpeername(descriptor, (struct sockaddr *)address, length);
}

// Makes an inherited descriptor like the others: it does not block, and is not inherited further.
static inline int cll_prepare_inherited(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0) return -1;
    return fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}
// In C, because glibc shows accept4 only to _GNU_SOURCE.
int cll_accept(int listener);
// The effective user id that the process at the other end of a UNIX socket had when it connected or listened. (SO_PEERCRED)
static inline int cll_peer_user(int descriptor, uint32_t *user) {
    // The kernel's ucred, which glibc shows only to _GNU_SOURCE.
    struct { int32_t process; uint32_t user, group; } peer;
    socklen_t length = sizeof peer;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || length != sizeof peer) return -1;
    *user = peer.user;
    return 0;
}
// The same for the process, as this one sees it; 0 if it does not, or if the kernel does not report it.
static inline int32_t cll_peer_process(int descriptor) {
    struct { int32_t process; uint32_t user, group; } peer;
    socklen_t length = sizeof peer;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || length != sizeof peer) return 0;
    return peer.process;
}
// A descriptor that is readable from the end of the process on; or -1. (pidfd_open(2), which glibc has since 2.36)
static inline int cll_open_process(int32_t process) {
#ifdef SYS_pidfd_open
    return (int)syscall(SYS_pidfd_open, process, 0);
#else
    (void)process;
    errno = ENOSYS;
    return -1;
#endif
}

// ---- rtnetlink

// A socket that reports link, address and route changes; or -1.
static inline int cll_route_socket(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0) return -1;
    struct sockaddr_nl address = { .nl_family = AF_NETLINK };
    address.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0) { close(descriptor); return -1; }
    return descriptor;
}

// ---- randomness

// Octets of the kernel's random source; their number, or -1 with errno set.
static inline ssize_t cll_random(void *buffer, size_t count) { return getrandom(buffer, count, 0); }

// ---- time

// Nanoseconds of the monotonic clock.
static inline int64_t cll_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
// Nanoseconds since the machine was started, also those during which it slept.
static inline int64_t cll_boot_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
// Nanoseconds since 1970 of the wall clock.
static inline int64_t cll_wall_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// ---- timers on the wall clock

static inline int cll_wall_timer(void) { return timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC); }
// Zero disarms. The timer also fires when the clock is set. True if it was set just before, and the timer has not fired for it.
static inline bool cll_wall_timer_arm(int timer, int64_t seconds, int64_t nanoseconds) {
    struct itimerspec date = { .it_value = { .tv_sec = (time_t)seconds, .tv_nsec = (long)nanoseconds } };
    return timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &date, NULL) < 0 && errno == ECANCELED;
}
// How often it has fired since the last call, or the negative errno: EAGAIN if it has not, ECANCELED if the clock was set.
static inline int64_t cll_wall_timer_take(int timer) {
    uint64_t count = 0;
    ssize_t done;
    do done = read(timer, &count, sizeof count); while (done < 0 && errno == EINTR);
    return done < 0 ? -errno : (int64_t)count;
}

// ---- futex

// Sleeps while `*word == expected`, at most `timeout` nanoseconds (negative: for ever). May wake for no reason.
static inline void cll_futex_wait(const void *word, uint32_t expected, int64_t timeout) {
    struct timespec time = { .tv_sec = timeout / 1000000000, .tv_nsec = timeout % 1000000000 };
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout < 0 ? NULL : &time, NULL, 0);
}
static inline void cll_futex_wake(const void *word, int count) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

// ---- threads

// At most 15 characters.
void cll_name_thread(const char *name);

// Writes as much of a message as possible. A descriptor without a reader raises no signal.
void cll_write_message(int descriptor, const void *bytes, size_t count);
// Writes one line of a log with one call, and raises no signal. False if there is no room for it within that time. A line
// without a possible reader counts as written. Up to PIPE_BUF bytes.
bool cll_write_line(int descriptor, const void *bytes, size_t count, int milliseconds);
// NULL if the process has other rights than the one that started it.
const char *cll_environment(const char *name);
static inline int64_t cll_thread_id(void) { return (int64_t)syscall(SYS_gettid); }

// ---- calls that glibc shows only to _GNU_SOURCE, which a header that Swift imports must not define: it would change
// ---- types that Swift's own Glibc module has already seen

ssize_t cll_splice(int from, int to, size_t count);
// From that place of a file into an empty pipe. May wait for the disk.
ssize_t cll_splice_file(int file, int64_t offset, int pipe, size_t count);
// Blocks SIGXFSZ on the calling thread: writing to a file above the size limit of the process fails there (EFBIG), and
// does not end the process.
void cll_block_file_size_signal(void);
// From a pipe to a socket, whose peer may be gone: that is an error here, never a signal.
ssize_t cll_splice_to_socket(int pipe, int socket, size_t count);
// Neither end blocks, and neither survives an exec.
int cll_pipe(int *exit, int *entrance);
int cll_set_pipe_capacity(int pipe, int bytes);
// Pages of zeros that go back to the system with munmap, or NULL. Both ask for large pages, which the system fills
// several times faster.
void *cll_map(size_t size);
// The same pages with more or fewer of them behind, perhaps elsewhere; NULL leaves them as they were.
void *cll_remap(void *pages, size_t size, size_t new_size);
// Makes the file `to` share the extents of `from`. -1 with errno if the file system cannot.
int cll_clone_file(int to, int from);
// Copies within the kernel, from and to the positions of both files; 0 at the end. Not between all file systems.
ssize_t cll_copy_range(int from, int to, size_t count);
// Exchanges the files of two names. -1 with errno if one is missing, or if the file system cannot.
int cll_exchange_files(const char *one, const char *other);
// Marks the file as in use, until this descriptor and its copies are closed, those of forked processes too. (F_OFD_SETLK)
int cll_mark_in_use(int descriptor);
// Whether another descriptor marks the file as in use; -1 with errno if that is unknown. Does not keep others from marking it.
int cll_is_in_use(int descriptor);
// mkostemps with O_CLOEXEC.
int cll_make_file(char *path, int suffix_length);
// A descriptor that stands for what has that name, be it a link, and reads nothing of it. Closing one leaves the locks of
// the process alone, as closing one that was opened to read would not.
int cll_open_place(const char *path);
// fchmod of such a descriptor.
int cll_set_mode_of_place(int place, mode_t mode);

// ---- programs

// Runs a program in a session of its own, with the signals as after boot, /dev/null as descriptors 0 to 2, and no other
// descriptor. Its environment is this process's with `variable` (`NAME=value`), without what a service gets from its starter.
// Returns the process identifier of the child, or the negative errno.
pid_t cll_launch(const char *path, char *const arguments[], const char *variable);
// Waits for the end of a child.
static inline void cll_wait_for(pid_t child) { while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {} }

// ---- run loops

// Makes the current thread's run loop return when it has done what it is doing, as it does on Apple's systems after a
// source. Does nothing in a process without Foundation.
void cll_return_from_run_loop(void);

// ---- names

// Errors of `cll_ask_name_servers`, which returns them negated.
enum { CLL_NO_SUCH_NAME = 1, CLL_NO_SUCH_DATA = 2, CLL_NO_ANSWER = 3 };

// Queries the system's name servers for the absolute name, without search domains. Returns the length of the answer, which
// is truncated to `capacity`. `seconds` is the time limit for a server and `tries` the number of rounds; resolv.conf can
// lower both.
int cll_ask_name_servers(const char *name, int type, uint8_t *answer, int capacity, int seconds, int tries);

// ---- what the checks of debug builds know of the calling thread

// A bit for each level of the locks that it holds, and one that turns the check off (Lock.swift); and what identifies the
// event loop that it runs.
extern _Thread_local unsigned long cll_thread_levels, cll_thread_loop;
static inline unsigned long cll_levels_of_thread(void) { return cll_thread_levels; }
static inline void cll_set_levels_of_thread(unsigned long levels) { cll_thread_levels = levels; }
static inline unsigned long cll_loop_of_thread(void) { return cll_thread_loop; }
static inline void cll_set_loop_of_thread(unsigned long loop) { cll_thread_loop = loop; }

#endif
