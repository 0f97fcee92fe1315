// One client's connection: requests in, responses out, over TCP or TLS.
#ifndef BENCH_SERVER_CONNECTION_H
#define BENCH_SERVER_CONNECTION_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct echo;

struct connection {
    int fd;
    /// Not NULL when the connection has become a WebSocket.
    struct echo *echo;
    /// NULL on a plain connection. Its output collects in memory so that many records leave in one send.
    SSL *tls;
    size_t tls_sent;
    bool readable;
    bool closing;
    bool held;
    /// Whether the body consists of lines, not of zeros.
    bool is_text;
    size_t hold_index;
    uint64_t deadline;
    uint64_t body_left;
    size_t in_length;
    size_t out_offset, out_length;
    char in[8192];
    char out[8192];
};

/// Takes `fd` over. NULL when memory ends; `fd` is then closed.
struct connection *connection_open(int fd, SSL_CTX *tls);
/// Goes as far as the socket allows. False when the connection has ended: close it.
bool connection_advance(struct connection *connection, uint64_t now);
/// The time of a held request has come: its response is queued, the caller advances.
void connection_release(struct connection *connection);
void connection_close(struct connection *connection);

#endif
