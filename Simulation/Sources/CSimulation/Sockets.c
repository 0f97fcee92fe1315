// The calls about sockets.
#include "Disk.h"
#include "Sockets.h"
#include <netinet/in.h>

int socket(int family, int type, int protocol) {
    if (!kernel_is_simulated()) return REAL(socket)(family, type, protocol);
    bool is_blocking = (type & SOCK_NONBLOCK) == 0;
    if (family == AF_NETLINK) return netlink_socket(is_blocking);
    bool is_unix = family == AF_UNIX && kernel_has_processes();
    if (family != AF_INET && family != AF_INET6 && !is_unix) return (int)fail_with(EAFNOSUPPORT);
    if (disk_has_no_descriptor()) return -1;
    if (is_unix) return unix_socket(is_blocking);
    if ((type & 0xF) == SOCK_DGRAM) return datagrams_socket(family, is_blocking);
    if ((type & 0xF) != SOCK_STREAM || (protocol != 0 && protocol != IPPROTO_TCP)) return (int)fail_with(EPROTONOSUPPORT);
    return tcp_socket(family, is_blocking);
}

// Without a call into the kernel, at which another thread could go on.
static struct file *socket_of(int descriptor, const struct socket_calls **calls) {
    struct file *file = kernel_is_simulated() ? kernel_file(descriptor) : NULL;
    *calls = file != NULL ? file->kind->calls : NULL;
    return *calls != NULL ? file : NULL;
}

static struct file *called(const char *call, int descriptor, const struct socket_calls **calls) {
    struct file *file = kernel_called(call, descriptor);
    *calls = file != NULL ? file->kind->calls : NULL;
    return file;
}

int bind(int descriptor, const struct sockaddr *address, socklen_t size) {
    const struct socket_calls *calls;
    struct file *file = socket_of(descriptor, &calls);
    if (file == NULL) return REAL(bind)(descriptor, address, size);
    return calls->bind != NULL ? calls->bind(file, address, size) : 0;
}

int connect(int descriptor, const struct sockaddr *address, socklen_t size) {
    const struct socket_calls *calls;
    struct file *file = called("connect", descriptor, &calls);
    if (file == NULL) return REAL(connect)(descriptor, address, size);
    return calls != NULL && calls->connect != NULL ? calls->connect(file, address, size) : (int)fail_with(EOPNOTSUPP);
}

// ---- sending and receiving

static ssize_t receive_pieces(struct file *file, const struct socket_calls *calls, struct msghdr *message, int flags) {
    message->msg_controllen = 0;
    message->msg_flags = 0;
    size_t count = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) count += message->msg_iov[i].iov_len;
    uint8_t *bytes = malloc(count + 1), *next = bytes;
    ssize_t received = calls->receive(file, bytes, count, flags);
    size_t left = received > 0 ? (size_t)received : 0;
    for (size_t i = 0; left > 0; i++) {
        size_t part = left < message->msg_iov[i].iov_len ? left : message->msg_iov[i].iov_len;
        memcpy(message->msg_iov[i].iov_base, next, part);
        next += part;
        left -= part;
    }
    free(bytes);
    return received;
}

static ssize_t send_pieces(struct file *file, const struct socket_calls *calls, const struct msghdr *message, int flags) {
    size_t count = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) count += message->msg_iov[i].iov_len;
    uint8_t *bytes = malloc(count + 1), *end = bytes;
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        memcpy(end, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
        end += message->msg_iov[i].iov_len;
    }
    ssize_t sent = calls->send(file, bytes, count, flags);
    free(bytes);
    return sent;
}

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags) {
    const struct socket_calls *calls;
    struct file *file = called("recvmsg", descriptor, &calls);
    if (file == NULL) return REAL(recvmsg)(descriptor, message, flags);
    if (calls == NULL) return fail_with(ENOTSOCK);
    if (calls->receive_message != NULL) return calls->receive_message(file, message, flags);
    return receive_pieces(file, calls, message, flags);
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    const struct socket_calls *calls;
    struct file *file = called("sendmsg", descriptor, &calls);
    if (file == NULL) return REAL(sendmsg)(descriptor, message, flags);
    if (calls == NULL) return fail_with(ENOTSOCK);
    if (calls->send_message != NULL) return calls->send_message(file, message, flags);
    return send_pieces(file, calls, message, flags);
}

ssize_t recv(int descriptor, void *bytes, size_t count, int flags) {
    const struct socket_calls *calls;
    struct file *file = called("recv", descriptor, &calls);
    if (file == NULL) return REAL(recv)(descriptor, bytes, count, flags);
    if (calls == NULL) return fail_with(ENOTSOCK);
    if (calls->receive != NULL) return calls->receive(file, bytes, count, flags);
    struct iovec part = { bytes, count };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    return calls->receive_message(file, &message, flags);
}

ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
    const struct socket_calls *calls;
    struct file *file = called("send", descriptor, &calls);
    if (file == NULL) return REAL(send)(descriptor, bytes, count, flags);
    if (calls == NULL) return fail_with(ENOTSOCK);
    if (calls->send != NULL) return calls->send(file, bytes, count, flags);
    struct iovec part = { (void *)bytes, count };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    return calls->send_message(file, &message, flags);
}

// ---- the rest

int shutdown(int descriptor, int how) {
    const struct socket_calls *calls;
    struct file *file = socket_of(descriptor, &calls);
    if (file == NULL) return REAL(shutdown)(descriptor, how);
    return calls->shut_down != NULL ? calls->shut_down(file, how) : (int)fail_with(ENOTCONN);
}

int setsockopt(int descriptor, int level, int option, const void *value, socklen_t size) {
    const struct socket_calls *calls;
    struct file *file = socket_of(descriptor, &calls);
    if (file == NULL) return REAL(setsockopt)(descriptor, level, option, value, size);
    return calls->set_option != NULL ? calls->set_option(file, level, option, value, size) : 0;
}

int getsockopt(int descriptor, int level, int option, void *restrict value, socklen_t *restrict size) {
    const struct socket_calls *calls;
    struct file *file = socket_of(descriptor, &calls);
    if (file == NULL) return REAL(getsockopt)(descriptor, level, option, value, size);
    return calls->option != NULL ? calls->option(file, level, option, value, size) : (int)fail_with(ENOPROTOOPT);
}

int getsockname(int descriptor, struct sockaddr *restrict address, socklen_t *restrict size) {
    const struct socket_calls *calls;
    struct file *file = socket_of(descriptor, &calls);
    if (file == NULL) return REAL(getsockname)(descriptor, address, size);
    return calls->own_name != NULL ? calls->own_name(file, address, size) : (int)fail_with(EOPNOTSUPP);
}

int getpeername(int descriptor, struct sockaddr *restrict address, socklen_t *restrict size) {
    const struct socket_calls *calls;
    struct file *file = socket_of(descriptor, &calls);
    if (file == NULL) return REAL(getpeername)(descriptor, address, size);
    return calls->peer_name != NULL ? calls->peer_name(file, address, size) : (int)fail_with(ENOTCONN);
}
