// System calls that Swift's view of the C library leaves out.

#ifndef C_TEST_POSIX_H
#define C_TEST_POSIX_H

#include <stddef.h>

/// A non-blocking descriptor that no child process inherits; -1 with `errno` on failure.
int ctt_accept(int listener);
/// Two ends that no child process inherits.
int ctt_pipe(int ends[2]);
/// At most 15 bytes are kept.
void ctt_name_thread(const char *name);
/// Gives the calling thread a network of its own, and a descriptor for it that no child process inherits; -1 with `errno`
/// on failure.
int ctt_make_network(void);
/// Moves the calling thread into such a network; -1 with `errno` on failure.
int ctt_enter_network(int network);
/// Has a UDP socket report the traffic class of what comes, and, if `coalesces`, hand out what was sent in one piece so.
void ctt_tell_traffic_class(int socket, int coalesces);
/// What has come, without waiting, and the octet in its head that has the traffic class; -1 with `errno` on failure.
long ctt_receive_datagram(int socket, void *bytes, unsigned long capacity, int *traffic_class);
/// A descriptor that no child process inherits, from which what servers at a port of this machine say to take a connection is
/// read without waiting, each packet from the head of IPv4 on: acknowledgements of a TCP connection, and first packets of
/// QUIC, also those of whoever wants one. -1 with `errno` on failure; it takes the right to see all packets.
int ctt_capture_connections(unsigned short port);
/// How many of those packets there was no room for since the last call; -1 with `errno` on failure.
int ctt_count_missed(int capture);
/// Bytes that are allocated and not freed, in all arenas.
size_t ctt_allocated(void);

#endif
