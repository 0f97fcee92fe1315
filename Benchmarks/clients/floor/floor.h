#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include "workload.h"

#include <stddef.h>

struct head {
    int status;
    uint64_t content_length;
};

/// A socket on its way to the server; `flags` as for socket(2).
int open_connection(const struct workload *workload, int flags);
size_t format_request(const struct workload *workload, char *out, size_t room);
/// Length of the response's head, 0 when it is not whole yet.
size_t parse_head(const char *bytes, size_t length, struct head *head);

/// One blocking connection; to a file by splice.
void run_sequential(const struct workload *workload, struct totals *totals);
/// One request a connection at a time, epoll over all of them.
void run_concurrent(const struct workload *workload, struct totals *totals);
/// One blocking connection through OpenSSL over a large receive buffer.
void run_tls(const struct workload *workload, struct totals *totals);

#endif
