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
/// Bytes that are allocated and not freed, in all arenas.
size_t ctt_allocated(void);

#endif
