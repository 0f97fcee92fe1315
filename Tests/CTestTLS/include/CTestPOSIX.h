// System calls that Swift's view of the C library leaves out.

#ifndef C_TEST_POSIX_H
#define C_TEST_POSIX_H

#include <stdint.h>

/// A non-blocking descriptor that no child process inherits; -1 with `errno` on failure.
int ctt_accept(int listener);
/// Two ends that no child process inherits.
int ctt_pipe(int ends[2]);
/// At most 15 bytes are kept.
void ctt_name_thread(const char *name);
/// Gives the calling thread, and those it starts from then on, a network with nothing in it but a loopback interface
/// that is down. -1 with `errno` where that is not allowed.
int ctt_leave_network(void);
/// Of the calling thread's network.
int ctt_set_loopback(int up);
/// Gives the loopback interface one more address, in the machine's byte order.
int ctt_add_loopback_address(uint32_t address);

#endif
