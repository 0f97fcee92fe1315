// The servers' side of protocols, for simulated hosts. All of it runs on the thread of listeners; no function reaches a descriptor.
#ifndef C_SIMULATION_SERVERS_H
#define C_SIMULATION_SERVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- TLS (TLSServer.c)

typedef struct simulation_tls_host simulation_tls_host;
typedef struct simulation_tls simulation_tls;

// In the process from which those of worlds are forked. Makes the authority of all worlds, and writes its certificate to a file. From now
// on OpenSSL's random octets are of the seed.
void simulation_tls_prepare(const char *path);

typedef struct {
    bool offers_http2;
    // TLS 1.2, and none later.
    bool is_old;
    size_t tickets;
    bool is_expired, has_wrong_name;
} simulation_tls_options;

// After it: the certificate of a host that worlds have, which each of them would make again otherwise.
void simulation_tls_prepare_host(const char *name, simulation_tls_options options);

simulation_tls_host *simulation_tls_host_new(const char *name, simulation_tls_options options);
simulation_tls *simulation_tls_new(simulation_tls_host *host);
void simulation_tls_free(simulation_tls *tls);
// From the client.
void simulation_tls_receive(simulation_tls *tls, const uint8_t *bytes, int64_t count);
// The handshake is done.
bool simulation_tls_is_ready(simulation_tls *tls);
bool simulation_tls_is_http2(simulation_tls *tls);
// What the client has sent, as plain text: 0 for none yet, negative at the end and after a failure.
int64_t simulation_tls_read(simulation_tls *tls, uint8_t *buffer, int64_t capacity);
void simulation_tls_write(simulation_tls *tls, const uint8_t *bytes, int64_t count);
// With close_notify.
void simulation_tls_close(simulation_tls *tls);
// The next octets for the client, 0 for none.
int64_t simulation_tls_take(simulation_tls *tls, uint8_t *buffer, int64_t capacity);

// Of the text, in hexadecimal, with a 0 at the end; at most 129 characters. The algorithm by its name in OpenSSL.
void simulation_digest(const char *algorithm, const char *text, char *digest);

// ---- HTTP/2 (HTTP2Server.c)

typedef struct simulation_http2 simulation_http2;

// No callback may call a function of its connection.
typedef struct {
    void *context;
    void (*field)(void *context, int32_t stream, const uint8_t *name, int64_t name_count, const uint8_t *value, int64_t value_count);
    void (*data)(void *context, int32_t stream, const uint8_t *bytes, int64_t count);
    // The request is complete.
    void (*request)(void *context, int32_t stream);
    // The stream is gone; with a code other than 0 before its end.
    void (*closed)(void *context, int32_t stream, uint32_t code);
    // Octets of the body of a response; 0 for none until `simulation_http2_resume`, unless it is the last.
    int64_t (*body)(void *context, int32_t stream, uint8_t *buffer, int64_t capacity, bool *is_last);
} simulation_http2_callbacks;

simulation_http2 *simulation_http2_new(simulation_http2_callbacks callbacks, uint32_t stream_window, uint32_t most_streams);
void simulation_http2_free(simulation_http2 *http2);
// False if the client's octets are no HTTP/2.
bool simulation_http2_receive(simulation_http2 *http2, const uint8_t *bytes, int64_t count);
// The next octets for the client, valid until the next call; 0 for none.
int64_t simulation_http2_take(simulation_http2 *http2, const uint8_t **bytes);
// `fields` is a list of names and values in turn, `:status` first.
void simulation_http2_respond(simulation_http2 *http2, int32_t stream, const char *const *fields, int64_t count, bool has_body);
void simulation_http2_resume(simulation_http2 *http2, int32_t stream);
void simulation_http2_reset(simulation_http2 *http2, int32_t stream, uint32_t code);
// GOAWAY that refuses nothing yet.
void simulation_http2_announce_end(simulation_http2 *http2);
// Streams after `last` are not processed.
void simulation_http2_go_away(simulation_http2 *http2, int32_t last, uint32_t code);
int32_t simulation_http2_last_stream(simulation_http2 *http2);
void simulation_http2_ping(simulation_http2 *http2);

// ---- HTTP/3 (HTTP3Server.c)

typedef struct simulation_http3_host simulation_http3_host;
typedef struct simulation_http3 simulation_http3;

typedef struct {
    // Of request bodies, and how many requests at a time.
    uint64_t stream_window, most_streams;
    // In nanoseconds.
    uint64_t idle_timeout;
    size_t tickets;
    bool accepts_early_data;
    // The client has to begin the handshake again (HelloRetryRequest).
    bool wants_other_group;
    // The handshake fails: there is no h3.
    bool has_other_protocol;
} simulation_http3_options;

// With the certificate of the host of TLS.
simulation_http3_host *simulation_http3_host_new(simulation_tls_host *tls, simulation_http3_options options);

// No callback may call a function of its connection.
typedef struct {
    void *context;
    // The first octets of a request came: whether it is read.
    bool (*opened)(void *context, int64_t stream);
    void (*field)(void *context, int64_t stream, const uint8_t *name, int64_t name_count, const uint8_t *value, int64_t value_count);
    void (*data)(void *context, int64_t stream, const uint8_t *bytes, int64_t count);
    // The request is complete. An early one came before the handshake was.
    void (*request)(void *context, int64_t stream, bool is_early);
    // The stream of a request that was read is gone; with a code other than H3_NO_ERROR before its end.
    void (*closed)(void *context, int64_t stream, uint64_t code);
    // Octets of the body of a response; 0 for none until `simulation_http3_resume`, unless it is the last.
    int64_t (*body)(void *context, int64_t stream, uint8_t *buffer, int64_t capacity, bool *is_last);
} simulation_http3_callbacks;

// A connection that begins with this datagram; NULL if none does. The address is that of the host.
simulation_http3 *simulation_http3_new(
    simulation_http3_host *host, simulation_http3_callbacks callbacks, uint64_t address, uint16_t port, uint16_t client_port,
    const uint8_t *datagram, int64_t count);
void simulation_http3_free(simulation_http3 *http3);

typedef enum {
    // To the first datagram of a connection.
    simulation_http3_other_version, simulation_http3_refusal,
    // A Retry, if the datagram has no token of one.
    simulation_http3_retry,
    // To one of a connection that the host does not know.
    simulation_http3_stateless_reset,
} simulation_http3_reply;

// A datagram without a connection; 0 for none. At least 256 octets of space.
int64_t simulation_http3_answer(
    simulation_http3_host *host, simulation_http3_reply reply, uint16_t client_port, bool is_ipv6, const uint8_t *datagram,
    int64_t count, uint8_t *buffer, int64_t capacity);

// Whether the datagram is one of the connection.
bool simulation_http3_is_for(simulation_http3 *http3, const uint8_t *datagram, int64_t count);
// False if the client has violated QUIC, TLS or HTTP/3.
// The client's port is another one when its connection has migrated.
bool simulation_http3_receive(
    simulation_http3 *http3, uint16_t client_port, const uint8_t *datagram, int64_t count, uint8_t mark);
// The next datagram for the client, also the last one after the end; 0 for none.
int64_t simulation_http3_take(
    simulation_http3 *http3, uint8_t *buffer, int64_t capacity, uint16_t *client_port, uint8_t *mark);
// When `simulation_http3_expire` has to be called; INT64_MAX for never.
int64_t simulation_http3_expiry(simulation_http3 *http3);
void simulation_http3_expire(simulation_http3 *http3);
// Either end has closed it.
bool simulation_http3_is_over(simulation_http3 *http3);
void simulation_http3_close(simulation_http3 *http3, uint64_t code);
// `fields` is a list of names and values in turn, `:status` first. Interim ones come before the response.
void simulation_http3_respond(
    simulation_http3 *http3, int64_t stream, const char *const *fields, int64_t count, bool has_body, bool is_interim);
void simulation_http3_resume(simulation_http3 *http3, int64_t stream);
void simulation_http3_reset(simulation_http3 *http3, int64_t stream, uint64_t code);
// GOAWAY that refuses nothing yet.
void simulation_http3_announce_end(simulation_http3 *http3);
// Streams after the last one that was read are not processed.
void simulation_http3_go_away(simulation_http3 *http3);

#endif
