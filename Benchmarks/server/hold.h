// Deadlines of the held requests: a binary heap, the earliest first.
#ifndef BENCH_SERVER_HOLD_H
#define BENCH_SERVER_HOLD_H

#include <stdbool.h>
#include <stdint.h>

struct connection;

/// Holds `connection` until `deadline` (nanoseconds of the monotonic clock). False when memory ends.
bool hold_add(struct connection *connection, uint64_t deadline);
void hold_remove(struct connection *connection);
/// The earliest held connection whose deadline is `now` or before, taken out; NULL when there is none.
struct connection *hold_take_due(uint64_t now);
/// Milliseconds until the earliest deadline, rounded up; -1 when nothing is held.
int hold_milliseconds_to_next(uint64_t now);

#endif
