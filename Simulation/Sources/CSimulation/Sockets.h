// The calls about sockets, by what each kind of socket has of them: TCP (Network.c), UDP (Datagrams.c), UNIX (UNIXSockets.c), netlink (Interface.c).
#ifndef SOCKETS_H
#define SOCKETS_H

#include "Kernel.h"
#include <sys/socket.h>

static inline ssize_t fail_with(int error) {
    errno = error;
    return -1;
}

// NULL for what a kind does not have.
struct socket_calls {
    int (*bind)(struct file *file, const struct sockaddr *address, socklen_t size);
    int (*connect)(struct file *file, const struct sockaddr *address, socklen_t size);
    // Of streams.
    ssize_t (*receive)(struct file *file, void *bytes, size_t count, int flags);
    ssize_t (*send)(struct file *file, const void *bytes, size_t count, int flags);
    // Of datagrams.
    ssize_t (*receive_message)(struct file *file, struct msghdr *message, int flags);
    ssize_t (*send_message)(struct file *file, const struct msghdr *message, int flags);
    int (*shut_down)(struct file *file, int how);
    int (*set_option)(struct file *file, int level, int option, const void *value, socklen_t size);
    int (*option)(struct file *file, int level, int option, void *value, socklen_t *size);
    int (*own_name)(struct file *file, struct sockaddr *address, socklen_t *size);
    int (*peer_name)(struct file *file, struct sockaddr *address, socklen_t *size);
};

// Each makes a socket and returns its descriptor.
int tcp_socket(int family, bool is_blocking);
int datagrams_socket(int family, bool is_blocking);
int unix_socket(bool is_blocking);
int netlink_socket(bool is_blocking);

// Of those of UDP that the program has open.
int datagrams_open_sockets(void);
// Whether packets pass, whatever the protocol.
bool network_is_reachable(simulation_address address);
// The error that a router sends for the host; 0 for none.
int network_error(simulation_address address);

#endif
