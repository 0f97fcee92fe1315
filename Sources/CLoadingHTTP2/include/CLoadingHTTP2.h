// HTTP/2 sessions of nghttp2 as plain functions. Options, callbacks and frame unions stay in C, so Swift imports no header
// of nghttp2. No function uses a descriptor or a clock. A callback may call every function except `clh_session_free`,
// `clh_receive` and `clh_send`.
#ifndef C_LOADING_HTTP2_H
#define C_LOADING_HTTP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clh_session clh_session;

// The position of a field in a block of bytes.
typedef struct {
    uint32_t name_start;
    uint32_t name_length;
    uint32_t value_start;
    uint32_t value_length;
} clh_position;

// A request field, with the layout of `nghttp2_nv`.
typedef struct {
    uint8_t *name;
    uint8_t *value;
    size_t name_length;
    size_t value_length;
    uint8_t flags;  // CLH_NEVER_INDEXED or 0
} clh_field;

enum { CLH_NEVER_INDEXED = 1 };

// A complete, valid header or trailer section. Valid during the call only.
typedef struct {
    int32_t status;  // three digits; -1 for trailers
    bool ends_stream;
    int64_t body_length;  // Content-Length, or -1
    const uint8_t *bytes;
    size_t byte_count;
    const clh_position *positions;
    size_t count;
} clh_section;

typedef struct {
    // Decoded sizes. A longer section resets its stream.
    size_t section_bytes;
    size_t section_fields;
    // A section that exceeds a limit by this factor ends the connection (CLH_SECTION_TOO_LONG), because with HPACK one
    // byte on the wire can stand for thousands.
    size_t section_excess;
    // Encoded size of a request's header section.
    size_t request_bytes;
    uint32_t stream_window;
    uint32_t connection_window;
    // Acknowledgements of PING and SETTINGS that may be queued.
    size_t unsent_answers;
    // CONTINUATION frames of one section.
    size_t continuations;
} clh_limits;

typedef enum {
    CLH_BODY_DATA,   // `*count` bytes were written
    CLH_BODY_LAST,   // the same, and the body ends
    CLH_BODY_LATER,  // no bytes until `clh_resume`
} clh_body;

// `slot` is the value passed to `clh_submit`.
typedef struct {
    void (*section)(void *owner, int32_t stream, size_t slot, const clh_section *section);
    void (*data)(void *owner, int32_t stream, size_t slot, const uint8_t *bytes, size_t count);
    // The end of a DATA frame. `length` includes the padding.
    void (*data_frame)(void *owner, int32_t stream, size_t slot, size_t length, bool ends_stream);
    void (*was_reset)(void *owner, int32_t stream, size_t slot, uint32_t code);
    // A stream error; the stream will be reset. `text` is a constant.
    void (*invalid)(void *owner, int32_t stream, size_t slot, const char *text);
    // A valid section ends the stream before Content-Length bytes of the body have arrived; the stream will be reset.
    void (*truncated)(void *owner, int32_t stream, size_t slot);
    void (*closed)(void *owner, int32_t stream, size_t slot, uint32_t code);
    void (*settings)(void *owner);
    void (*going_away)(void *owner, int32_t last_stream, uint32_t code);
    void (*ping_answer)(void *owner, const uint8_t payload[8]);
    // This side has sent a GOAWAY with an error code, because of a connection error.
    void (*gave_up)(void *owner, uint32_t code, const uint8_t *text, size_t length);
    // Requests at most `capacity` bytes of a body. The owner keeps them and writes them in `body_frame`.
    clh_body (*body)(void *owner, int32_t stream, size_t slot, size_t capacity, size_t *count);
    // The frame header for the bytes of the last call of `body`.
    void (*body_frame)(void *owner, int32_t stream, size_t slot, const uint8_t head[9], size_t count, bool ends_stream);
} clh_callbacks;

// Errors of the functions below.
enum {
    CLH_OUT_OF_MEMORY = -1,
    CLH_SECTION_TOO_LONG = -2,
    CLH_FLOODED = -3,          // more than `unsent_answers` are queued
    CLH_NO_STREAM_LEFT = -4,   // the connection has no stream identifier left
    CLH_REFUSED = -5,          // any other error
};

// Whether nghttp2 is installed. Loads it, which may wait for the disk.
bool clh_is_available(void);

// NULL if memory is exhausted or nghttp2 is missing. `clh_send` returns the connection preface, SETTINGS and WINDOW_UPDATE
// first.
clh_session *clh_session_new(const clh_callbacks *callbacks, void *owner, const clh_limits *limits);
void clh_session_free(clh_session *session);

// The stream identifier, or an error. With `has_body` the callback `body` supplies the body.
int32_t clh_submit(clh_session *session, const clh_field *fields, size_t count, size_t slot, bool has_body);
void clh_resume(clh_session *session, int32_t stream);
void clh_reset(clh_session *session, int32_t stream, uint32_t code);
void clh_ping(clh_session *session, const uint8_t payload[8]);
void clh_go_away(clh_session *session);
// Queues a GOAWAY with that error code. Received frames are ignored from now on.
void clh_give_up(clh_session *session, uint32_t code);
// PRIORITY_UPDATE (RFC 9218 §7.1). No effect if the installed nghttp2 lacks it.
void clh_set_priority(clh_session *session, int32_t stream, const char *value, size_t length);

void clh_consume_stream(clh_session *session, int32_t stream, size_t count);
void clh_consume_connection(clh_session *session, size_t count);
void clh_set_stream_window(clh_session *session, int32_t stream, int32_t size);

// 0 or an error. After an error only `clh_session_free` may be called.
int clh_receive(clh_session *session, const uint8_t *bytes, size_t count);
// The size of the next frame, whose bytes are valid until the next call. 0 if a frame was passed to `body_frame`, or if
// nothing is to be sent now.
ptrdiff_t clh_send(clh_session *session, const uint8_t **bytes);

// The slot of an open stream; SIZE_MAX for others.
size_t clh_slot(clh_session *session, int32_t stream);
bool clh_wants_read(clh_session *session);
bool clh_wants_write(clh_session *session);
// False after a GOAWAY of either side, after an error, and when no stream identifier is left.
bool clh_allows_requests(clh_session *session);
// Queued frames, requests included.
size_t clh_queue_length(clh_session *session);
uint32_t clh_peer_maximum_streams(clh_session *session);
bool clh_peer_allows_extended_connect(clh_session *session);

#endif
