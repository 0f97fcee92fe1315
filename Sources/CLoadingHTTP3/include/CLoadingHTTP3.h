// ngtcp2, nghttp3 and GnuTLS behind plain functions: their structures, callbacks and versions stay in C, so that Swift
// imports no header of theirs. Nothing here owns a socket or reads a clock; times are nanoseconds of one clock that does
// not go back.
//
// A session is HTTP/3 (session.c) on a transport: QUIC (connection.c), or streams that a test feeds and drains (loose.c).
//
// The callbacks below may call all functions except `cl3_free`, `cl3_receive`, `cl3_handle_expiry`, `cl3_write`, `cl3_close`,
// `cl3_migrate` and the functions of loose streams. What the libraries do not allow inside a callback is done after they have
// returned.
#ifndef C_LOADING_HTTP3_H
#define C_LOADING_HTTP3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cl3_session cl3_session;
typedef struct cl3_stream cl3_stream;

// Where one field lies in a block of bytes.
typedef struct {
    uint32_t name_start;
    uint32_t name_length;
    uint32_t value_start;
    uint32_t value_length;
} cl3_position;

// A field of a request, as nghttp3 takes it.
typedef struct {
    uint8_t *name;
    uint8_t *value;
    size_t name_length;
    size_t value_length;
    uint8_t flags;  // CL3_NEVER_INDEXED or 0
} cl3_field;

enum { CL3_NEVER_INDEXED = 1 };

// A complete and valid header section; valid during the call only.
typedef struct {
    int32_t status;  // three digits
    bool ends_stream;
    size_t wire_length;  // of its frame
    const uint8_t *bytes;
    size_t byte_count;
    const cl3_position *positions;
    size_t count;
} cl3_section;

typedef struct {
    uint8_t *start;
    size_t count;
} cl3_bytes;

typedef struct {
    // A section that is longer ends its stream; one that is `section_excess` times as long ends the connection.
    size_t section_bytes;
    size_t section_fields;
    size_t section_excess;
    // Bytes of the tables of field compression that the peer may fill, and how many streams may wait for them.
    size_t table_capacity;
    size_t blocked_streams;
    // Concurrent requests that nghttp3 allows, cancelled ones included until the peer has acknowledged that.
    size_t pending_cancellations;
    uint64_t stream_window;
    uint64_t connection_window;
    // Bytes of one request's body that may wait for the peer to acknowledge them.
    size_t unacknowledged;
    // Open unidirectional streams of the peer.
    uint64_t unidirectional_streams;
    uint64_t connection_ids;
    // Tickets that are kept.
    unsigned tickets;
    // Bytes of one message of the handshake.
    size_t handshake_message;
    // Bytes of the issuers' names in a server's certificate request.
    size_t issuers;
    uint64_t idle_timeout;
    uint64_t handshake_timeout;
} cl3_limits;

typedef enum {
    CL3_BODY_DATA,   // `*count` bytes were written
    CL3_BODY_LAST,   // the same, and the body is complete
    CL3_BODY_LATER,  // until `cl3_resume`
} cl3_body;

// `slot` is what the stream was submitted with. None is called for a stream that was detached.
typedef struct {
    void (*section)(void *owner, size_t slot, const cl3_section *section);
    // Content, and the number of its pieces.
    void (*data)(void *owner, size_t slot, const uint8_t *bytes, size_t count, size_t pieces);
    // The response is complete.
    void (*ended)(void *owner, size_t slot);
    // The peer has ended its half before the response was complete.
    void (*was_reset)(void *owner, size_t slot, uint64_t code);
    // The stream breaks a rule and is being reset. `text` is constant.
    void (*invalid)(void *owner, size_t slot, const char *text);
    // The stream ends like a complete response, but the body is shorter than announced; it will be reset.
    void (*truncated)(void *owner, size_t slot);
    // Both halves have ended, and the stream no longer exists.
    void (*closed)(void *owner, size_t slot);
    // The server accepts no requests from this stream on.
    void (*going_away)(void *owner, int64_t first_refused);
    // More streams may be opened than before.
    void (*more_streams)(void *owner);
    // Asks for at most `capacity` bytes of a body.
    cl3_body (*body)(void *owner, size_t slot, uint8_t *room, size_t capacity, size_t *count);
    void (*sent_head)(void *owner, size_t slot, size_t length);
    void (*sent_body)(void *owner, size_t slot, size_t length, size_t frame_length);
    void (*sent_request)(void *owner, size_t slot);
    // Of the transport alone. The certificates are DER, the server's own is first; after a
    // resumption those of the first handshake.
    void (*handshake_complete)(void *owner, const cl3_bytes *certificates, size_t count, uint16_t cipher_suite);
    // All streams that were submitted before end without a call to `closed`.
    void (*early_data_rejected)(void *owner);
    // The server keeps the ticket for `lifetime` seconds.
    void (*ticket)(void *owner, cl3_bytes ticket, cl3_bytes parameters, bool has_early_data, uint32_t lifetime);
    // NULL if no qlog is written.
    void (*qlog)(void *owner, const uint8_t *bytes, size_t count, bool is_last);
    // A secret, as a line of the NSS key log format without the line feed. NULL if no secrets are logged.
    void (*secret)(void *owner, const char *line);
} cl3_callbacks;

// Why a session cannot be used any more.
typedef enum {
    CL3_OUT_OF_MEMORY = -1,
    CL3_UNAVAILABLE = -2,        // one of the libraries is missing
    CL3_VIOLATION = -3,          // the peer broke a rule, `code`
    CL3_SECTION_TOO_LONG = -4,
    CL3_TLS = -5,                // the handshake failed here, with the alert `code`
    CL3_CLOSED_BY_PEER = -6,     // with `code`
    CL3_STATELESS_RESET = -7,
    CL3_IDLE = -8,
    CL3_HANDSHAKE_TIMEOUT = -9,
    CL3_NO_VERSION = -10,
    CL3_NO_PATH = -11,
    CL3_CLOSED = -12,            // by this side
    CL3_NO_STREAM = -13,         // none may be opened now; the session goes on
    CL3_IDENTITY = -14,          // the client certificate or its key is unusable
    CL3_HELLO_RETRY_REQUEST = -15,  // the server requires another hello, and early data was sent with the first
} cl3_result;

typedef struct {
    cl3_result result;
    uint64_t code;
    bool is_application;  // `code` is of HTTP/3's, not of QUIC's
    const uint8_t *text;
    size_t text_length;
} cl3_problem;

typedef struct {
    const void *local;  // struct sockaddr
    size_t local_length;
    const void *remote;
    size_t remote_length;
} cl3_endpoints;

typedef struct {
    cl3_endpoints endpoints;
    const char *server_name;  // NULL: an address, which is not sent
    cl3_bytes ticket;         // empty: none
    cl3_bytes parameters;
    bool allows_early_data;
    // The client certificate, in DER: itself, the intermediate certificates, and its key. None: no certificate.
    const cl3_bytes *identity;
    size_t identity_count;
    cl3_bytes identity_key;
    // The only server certificate that it may be shown to, in DER; the handshake with another fails. Empty: any.
    cl3_bytes identity_reader;
    uint64_t now;
} cl3_opening;

// Whether this build has HTTP/3. If not, no session can be made, and no header of the libraries is needed.
bool cl3_is_available(void);
// Loads the libraries if they are not loaded. False if one of them is missing; each call tries again.
bool cl3_load(void);
// NULL if they are loaded; else the loader's message, which names the file that is missing or unusable. The text is the
// thread's, until its next call. Each call tries again.
const char *cl3_library_failure(void);

// NULL with the reason in `result`.
cl3_session *cl3_new(
    const cl3_callbacks *callbacks, void *owner, const cl3_limits *limits, const cl3_opening *opening,
    cl3_result *result);
void cl3_free(cl3_session *session);

// The stream's number, or CL3_NO_STREAM or another error. `*stream` is valid until `closed` was called for it, the early
// data was rejected, it was detached, or the session is freed.
int64_t cl3_submit(
    cl3_session *session, const cl3_field *fields, size_t count, size_t slot, bool has_body, cl3_stream **stream);
// How many requests would be accepted now.
uint64_t cl3_streams_left(cl3_session *session);
// Whether the peer's settings allow extended CONNECT (RFC 9220); false before they are received.
bool cl3_peer_allows_connect_protocol(cl3_session *session);
void cl3_resume(cl3_session *session, cl3_stream *stream);
// Ends the halves that have not ended. Nothing more is read, and no body is requested.
void cl3_reset(cl3_session *session, cl3_stream *stream, uint64_t code);
// Nothing is reported of the stream any more.
void cl3_detach(cl3_session *session, cl3_stream *stream);
// Received bytes of the stream, with the heads of their frames.
size_t cl3_received(cl3_stream *stream);
// Bytes of the request's body that the peer has not acknowledged.
size_t cl3_unacknowledged(cl3_stream *stream);
void cl3_set_priority(cl3_session *session, cl3_stream *stream, uint32_t urgency, bool is_incremental);
// Accepts no more pushes; a GOAWAY notifies the peer.
void cl3_go_away(cl3_session *session);

// Extends the windows.
void cl3_extend_stream(cl3_session *session, cl3_stream *stream, uint64_t count);
void cl3_extend_connection(cl3_session *session, uint64_t count);

// What the peer has caused since the last call.
typedef struct {
    // Of frames that are no content.
    uint64_t bytes;
    // Header sections that have begun, trailers too, and the bytes of their frames.
    uint64_t sections;
    uint64_t section_bytes;
    // Final responses.
    uint64_t responses;
    // The peer's own streams that were closed.
    uint64_t streams;
    uint64_t tickets;
    // Datagrams in which nothing could be decrypted, or nothing that was new. They may be forged.
    uint64_t foreign;
} cl3_work;

cl3_work cl3_take_work(cl3_session *session);

// 0, or an error, after which `cl3_problem_of` has the details and `cl3_close_datagram` the CONNECTION_CLOSE to send.
int cl3_receive(cl3_session *session, const uint8_t *datagram, size_t count, uint8_t ecn, uint64_t now);
// Called after all available datagrams were received: reports the content of the last of them.
int cl3_received_all(cl3_session *session);
int cl3_handle_expiry(cl3_session *session, uint64_t now);

typedef struct {
    const uint8_t *bytes;
    size_t count;
    size_t segment;  // length of each datagram but the last
    uint8_t ecn;
} cl3_output;

// The next datagrams, valid until the next call; a count of 0 means none now. 0, or an error as above.
int cl3_write(cl3_session *session, uint64_t now, cl3_output *output);
void cl3_release_room(cl3_session *session);

// UINT64_MAX: never.
uint64_t cl3_expiry(cl3_session *session);
// Sends a PING when nothing was sent for this time; 0: never.
void cl3_set_keep_alive(cl3_session *session, uint64_t interval);
// Sends a PING with the next output.
void cl3_ping(cl3_session *session);
// Bytes that the peer has not acknowledged.
uint64_t cl3_in_flight(cl3_session *session);
// Another path from now on. False if the connection cannot change its path now.
bool cl3_migrate(cl3_session *session, const cl3_endpoints *endpoints, uint64_t now);
// Updates the keys. False if it is too early.
bool cl3_update_keys(cl3_session *session, uint64_t now);
// After how long without a packet the server may forget the connection, in nanoseconds; 0 if it has not said.
uint64_t cl3_peer_idle_timeout(cl3_session *session);
bool cl3_is_handshake_complete(cl3_session *session);
// Whether the server has confirmed the handshake (RFC 9001 section 4.1.2).
bool cl3_is_handshake_confirmed(cl3_session *session);
// Whether the completed handshake resumed a session, so that the server has shown no certificate.
bool cl3_is_resumed(cl3_session *session);
// Whether the server has requested a certificate.
bool cl3_is_certificate_wanted(cl3_session *session);
// The issuers of certificates that the server accepts: the DER of each name, after its length in two bytes.
cl3_bytes cl3_issuers(cl3_session *session);
// The stapled OCSP response; empty without one.
cl3_bytes cl3_stapled_response(cl3_session *session);
// Whether early data may be sent: it is offered, and the server has not answered yet.
bool cl3_offers_early_data(cl3_session *session);

typedef enum { CL3_CODE_TRANSPORT, CL3_CODE_APPLICATION, CL3_CODE_ALERT } cl3_code_kind;
// Ends the connection with a code: only the CONNECTION_CLOSE is sent after that.
void cl3_close(cl3_session *session, cl3_code_kind kind, uint64_t code, uint64_t now);
cl3_bytes cl3_close_datagram(cl3_session *session);
cl3_problem cl3_problem_of(cl3_session *session);

// ---- without QUIC

// `streams` is the limit of open requests.
cl3_session *cl3_new_loose(
    const cl3_callbacks *callbacks, void *owner, const cl3_limits *limits, uint64_t streams, cl3_result *result);
// What the peer sends on a stream. Nothing on one that is over.
int cl3_loose_feed(cl3_session *session, int64_t stream, const uint8_t *bytes, size_t count, bool is_last);
int cl3_loose_reset(cl3_session *session, int64_t stream, uint64_t code);
int cl3_loose_stop(cl3_session *session, int64_t stream, uint64_t code);
// Returns the next bytes of any stream, and acknowledges them. False if there are none.
bool cl3_loose_take(
    cl3_session *session, int64_t *stream, uint8_t *room, size_t capacity, size_t *count, bool *is_last);
// By how much the windows were opened since the beginning; -1 is the connection.
uint64_t cl3_loose_credit(cl3_session *session, int64_t stream);
// The code that a stream was reset with, or 0.
uint64_t cl3_loose_reset_code(cl3_session *session, int64_t stream);

#endif
