// nghttp2 behind plain functions: its options, callbacks and frame unions stay in C, so that Swift imports no header of
// it. Nothing here owns a descriptor or reads a clock. Whatever is called from inside one of the callbacks below is
// allowed, but for `clh_session_free`, `clh_receive` and `clh_send`.
#ifndef C_LOADING_HTTP2_H
#define C_LOADING_HTTP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clh_session clh_session;

// Where one field lies in a block of bytes.
typedef struct {
    uint32_t name_start;
    uint32_t name_length;
    uint32_t value_start;
    uint32_t value_length;
} clh_position;

// A field of a request, as nghttp2 takes it.
typedef struct {
    uint8_t *name;
    uint8_t *value;
    size_t name_length;
    size_t value_length;
    uint8_t flags;  // CLH_NEVER_INDEXED or 0
} clh_field;

enum { CLH_NEVER_INDEXED = 1 };

// A header or trailer section that is whole and in order, there during the call only.
typedef struct {
    int32_t status;  // three digits, or -1: trailers
    bool ends_stream;
    int64_t body_length;  // as it is announced, or -1
    const uint8_t *bytes;
    size_t byte_count;
    const clh_position *positions;
    size_t count;
} clh_section;

typedef struct {
    // A section that is longer ends its stream, one that is several times as long ends the connection
    // (CLH_SECTION_TOO_LONG): a byte on the wire may stand for thousands.
    size_t section_bytes;
    size_t section_fields;
    // A section that is so many times too long ends the connection, and not only its stream.
    size_t section_excess;
    // What a request may come to at the very most.
    size_t request_bytes;
    uint32_t stream_window;
    uint32_t connection_window;
    // Answers to PING and SETTINGS that may wait to be sent.
    size_t unsent_answers;
    // Frames that may go on with one section.
    size_t continuations;
} clh_limits;

typedef enum {
    CLH_BODY_DATA,   // `*count` bytes were written
    CLH_BODY_LAST,   // the same, and the body is whole
    CLH_BODY_LATER,  // until `clh_resume`
} clh_body;

// `slot` is what the stream was submitted with.
typedef struct {
    void (*section)(void *owner, int32_t stream, size_t slot, const clh_section *section);
    void (*data)(void *owner, int32_t stream, size_t slot, const uint8_t *bytes, size_t count);
    // A DATA frame is over; `length` is that of its payload, with padding.
    void (*data_frame)(void *owner, int32_t stream, size_t slot, size_t length, bool ends_stream);
    void (*was_reset)(void *owner, int32_t stream, size_t slot, uint32_t code);
    // The stream breaks a rule and will be reset. `text` is constant.
    void (*invalid)(void *owner, int32_t stream, size_t slot, const char *text);
    // A section ends the stream and has all that belongs there, but the body before it is not whole; the stream will be reset.
    void (*truncated)(void *owner, int32_t stream, size_t slot);
    void (*closed)(void *owner, int32_t stream, size_t slot, uint32_t code);
    void (*settings)(void *owner);
    void (*going_away)(void *owner, int32_t last_stream, uint32_t code);
    void (*ping_answer)(void *owner, const uint8_t payload[8]);
    // A GOAWAY of this side's with an error in it was sent: the peer broke a rule of the connection.
    void (*gave_up)(void *owner, uint32_t code, const uint8_t *text, size_t length);
    // Asks for at most `capacity` bytes of a body; they go where `body_frame` knows to find them.
    clh_body (*body)(void *owner, int32_t stream, size_t slot, size_t capacity, size_t *count);
    // The head of the frame that the bytes of the last call of `body` make.
    void (*body_frame)(void *owner, int32_t stream, size_t slot, const uint8_t head[9], size_t count, bool ends_stream);
} clh_callbacks;

// What the functions below return if not a count or 0.
enum {
    CLH_OUT_OF_MEMORY = -1,
    CLH_SECTION_TOO_LONG = -2,
    CLH_FLOODED = -3,          // more frames wait to be answered than may
    CLH_NO_STREAM_LEFT = -4,   // for good, on this connection
    CLH_REFUSED = -5,          // whatever else
};

// Whether nghttp2 is there. Loads it, which may wait for the disk.
bool clh_is_available(void);

// NULL without memory, or without nghttp2. The preface, the settings and the connection's window are the first that `clh_send` gives.
clh_session *clh_session_new(const clh_callbacks *callbacks, void *owner, const clh_limits *limits);
void clh_session_free(clh_session *session);

// The stream's number, or one of the errors. With a body the callback `body` is asked for it.
int32_t clh_submit(clh_session *session, const clh_field *fields, size_t count, size_t slot, bool has_body);
void clh_resume(clh_session *session, int32_t stream);
void clh_reset(clh_session *session, int32_t stream, uint32_t code);
void clh_ping(clh_session *session, const uint8_t payload[8]);
void clh_go_away(clh_session *session);
// Has `clh_send` give a GOAWAY with that code. Nothing that is received counts any more.
void clh_give_up(clh_session *session, uint32_t code);
// Nothing if the library or the peer cannot.
void clh_set_priority(clh_session *session, int32_t stream, const char *value, size_t length);

void clh_consume_stream(clh_session *session, int32_t stream, size_t count);
void clh_consume_connection(clh_session *session, size_t count);
void clh_set_stream_window(clh_session *session, int32_t stream, int32_t size);

// 0 or an error, after which the session is of no more use.
int clh_receive(clh_session *session, const uint8_t *bytes, size_t count);
// The next frame, there until the next call. 0: either one went through `body_frame`, or there is nothing more now.
ptrdiff_t clh_send(clh_session *session, const uint8_t **bytes);

// The slot of an open stream, or SIZE_MAX.
size_t clh_slot(clh_session *session, int32_t stream);
bool clh_wants_read(clh_session *session);
bool clh_wants_write(clh_session *session);
// Whether a request would be taken. False after a GOAWAY of either side, after an error, and without numbers left.
bool clh_allows_requests(clh_session *session);
// Frames that wait to be sent, requests among them.
size_t clh_queue_length(clh_session *session);
uint32_t clh_peer_maximum_streams(clh_session *session);
bool clh_peer_allows_extended_connect(clh_session *session);

#endif
