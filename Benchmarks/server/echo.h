// A connection that has become a WebSocket: every frame goes back as it came, without its mask.
#ifndef BENCH_SERVER_ECHO_H
#define BENCH_SERVER_ECHO_H

#include "connection.h"

#include <stddef.h>

struct echo;

/// Answers the request whose head is `head`, which is terminated, with the opening handshake's response. Returns its length in `out`;
/// 0 when the request is no opening handshake.
size_t echo_format_handshake(const char *head, char *out, size_t room);
/// `start` is what arrived after the head. NULL when memory ends or it is too long.
struct echo *echo_open(const char *start, size_t length);
void echo_close(struct echo *echo);

/// Where the next input goes, and how much there may be. Only when nothing waits to be sent.
char *echo_room(struct echo *echo, size_t *room);
/// So much input has been put there: it becomes output. False when the connection is to be closed.
bool echo_received(struct echo *echo, size_t count);
/// What waits to be sent.
const char *echo_output(const struct echo *echo, size_t *length);
void echo_sent(struct echo *echo, size_t count);
/// Whether the close frame has gone back.
bool echo_is_over(const struct echo *echo);

#endif
