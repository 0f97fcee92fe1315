// What the sockets of TCP and those of UDP have of each other.
#ifndef DATAGRAMS_H
#define DATAGRAMS_H

#include "Kernel.h"
#include <sys/socket.h>

// ---- Datagrams.c

bool datagrams_are_of(struct file *file);
int datagrams_socket(int family, bool is_blocking);
int datagrams_bind(struct file *file, const struct sockaddr *address);
int datagrams_connect(struct file *file, const struct sockaddr *address);
int datagrams_set_option(struct file *file, int level, int option, int value);
int datagrams_name(struct file *file, struct sockaddr *address, socklen_t *size);
ssize_t datagrams_send(struct file *file, const struct msghdr *message, int flags);
ssize_t datagrams_receive(struct file *file, struct msghdr *message, int flags);
// Of those that the program has open.
int datagrams_open_sockets(void);

// ---- Network.c

// Whether packets pass, whatever the protocol.
bool network_is_reachable(simulation_address address);
// What a router tells of the host; 0 for nothing.
int network_error(simulation_address address);

#endif
