// Declarations of this module's files: HTTP/3 in a session, and the transport below it.
#ifndef CL3_SESSION_H
#define CL3_SESSION_H

#include "CLoadingHTTP3.h"
#include "libraries.h"

// A piece of a request's body, kept until the peer has it.
struct chunk {
    struct chunk *next;
    uint64_t end;  // where its frame ends in the stream
    size_t count;
    size_t acknowledged;
    size_t frame_head;
    uint8_t bytes[];
};

struct section {
    uint8_t *bytes;
    size_t byte_count;
    size_t byte_capacity;
    cl3_position *positions;
    size_t count;
    size_t capacity;
    int32_t status;
    int64_t body_length;  // as it is announced, or 0
    size_t wire_length;
    bool is_malformed;
    // The size with the fields that were dropped.
    size_t total_bytes;
    size_t total_count;
};

// An integer of variable length (RFC 9000 section 16), while it is read.
struct variable {
    uint64_t value;
    uint8_t octets_left;
};

// True at the last octet.
static inline bool cl3_take_variable(struct variable *self, uint8_t octet) {
    if (self->octets_left == 0) {
        self->octets_left = (uint8_t)(1 << (octet >> 6));
        self->value = octet & 0x3F;
    } else {
        self->value = self->value << 8 | octet;
    }
    return --self->octets_left == 0;
}

// The peer's SETTINGS, and the state of reading them.
struct peer_settings {
    int64_t stream;  // the control stream, or 0
    uint64_t begun;  // the first unidirectional streams that have begun, a bit for each
    struct variable number;
    uint64_t left;  // octets of the frame
    uint64_t identifier;
    uint8_t part;
    bool allows_connect_protocol;
};

// Counts the field lines of one stream.
struct field_counter {
    uint64_t sections, lines;  // that have begun
    bool may_have_length;      // since it was looked at last
    // The current frame, and how much of it is unread.
    uint64_t type, left;
    struct variable head;
    // The part that is read, the number in it, and what follows.
    uint64_t number;
    uint8_t part, next, bits;
    int8_t shift;
    bool is_static, is_coded;
};

struct cl3_stream {
    int64_t id;
    size_t slot;  // SIZE_MAX: none
    cl3_stream *next, *previous;

    // Input.
    struct section section;
    struct field_counter counter;
    // What nghttp3 has reported, and fields that it may have dropped.
    uint64_t reported_sections, reported_lines, excused_lines;
    size_t received;
    // The length of the body so far, and its announced length, if any.
    int64_t content, body_length;
    // Input that nghttp3 holds until the table has the entries.
    size_t held;
    bool is_read_shut;
    // nghttp3 ignores further input.
    bool is_broken;
    bool is_ended;
    // The request's method is CONNECT.
    bool is_connect;
    // The transport's stream has ended.
    bool is_closing;

    // Output. `unsent` is the first chunk that was not sent completely.
    struct chunk *first, *last, *unsent;
    size_t unacknowledged;
    uint64_t written;
    uint64_t head_length;  // 0: not known
    uint64_t body_end;     // where the last frame ends that was made
    bool is_head_reported, is_write_shut, is_request_reported;
    bool is_full, is_asked, is_resumed;
    size_t turn;  // bytes since the stream's turn began
    bool is_resting;  // until the others have had their turns

    // A reset that waits until the libraries have returned.
    bool is_marked;
    bool is_reset;
    uint64_t code;
    cl3_stream *next_marked;
    uint64_t credit;

    // Of loose streams.
    uint64_t loose_credit;
    uint64_t loose_code;
    bool is_loose_read_over, is_loose_write_over;
};

struct transport {
    // 0 or an error.
    int (*open)(cl3_session *self, bool is_bidirectional, int64_t *id, cl3_stream *stream);
    uint64_t (*streams_left)(cl3_session *self);
    void (*extend_stream)(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t count);
    void (*extend)(cl3_session *self, uint64_t count);
    void (*stop_reading)(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t code);
    void (*stop_writing)(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t code);
    void (*free)(cl3_session *self);
};

struct cl3_session {
    cl3_callbacks callbacks;
    void *owner;
    cl3_limits limits;

    const struct transport *transport;
    void *link;  // the transport's own

    nghttp3_conn *http;
    cl3_stream *streams;
    cl3_stream *marked;
    cl3_stream *reading;
    size_t read_body;  // reported of `reading` in the current call
    // Content of one stream that was read and is not reported yet, and its pieces; a datagram has little of it.
    cl3_stream *gathering;
    uint8_t *gathered;
    size_t gathered_count, gathered_pieces;
    bool is_in_library;
    bool has_stream_work;
    bool has_resting;  // streams
    uint64_t credit;
    cl3_work work;  // since it was taken last
    bool is_leaving;
    struct peer_settings peer_settings;

    bool is_over;
    cl3_problem problem;
    uint8_t reason[256];
};

// ---- session.c

// Sets the problem if there is none.
void cl3_set_problem(cl3_session *self, cl3_result result, uint64_t code, bool is_application, const char *text);

// Sets the problem for an error of nghttp3. -1.
int cl3_http_failed(cl3_session *self, int error);
// 0 or an error. Needs three streams of its own.
int cl3_start_http(cl3_session *self);
void cl3_end_http(cl3_session *self);

// ---- fields.c

// Continues to read a request's stream, up to the end of a section or of the bytes. Returns the number of bytes read.
size_t cl3_count_fields(struct field_counter *counter, const uint8_t *bytes, size_t count);
// Whether more field lines were received than reported in these sections, apart from the dropped `content-length`.
bool cl3_is_missing_fields(struct field_counter *counter, uint64_t sections, uint64_t lines, uint64_t excused);

// ---- peer_settings.c

// Reads the settings in the input of a unidirectional stream.
void cl3_note_settings(cl3_session *self, int64_t id, const uint8_t *bytes, size_t count);

// ---- sections.c

void cl3_end_section(struct section *section);

// ---- response_body.c

// Reports the gathered content.
void cl3_tell_gathered(cl3_session *self);
// Opens the windows of a stream and of the connection when the libraries have returned.
static inline void cl3_give_credit(cl3_session *self, cl3_stream *stream, uint64_t count) {
    if (stream && count) {
        stream->credit += count;
        self->has_stream_work = true;
    }
    self->credit += count;
}
// How much of what nghttp3 releases of a stream was not returned to the connection's window.
size_t cl3_release_held(cl3_stream *stream, size_t count);

// ---- request_body.c

nghttp3_ssize cl3_read_body(
    nghttp3_conn *http, int64_t id, nghttp3_vec *list, size_t capacity, uint32_t *flags, void *user,
    void *stream_user);
// What is to be sent next, as `nghttp3_conn_writev_stream`. Streams take turns, because nghttp3 would send the whole body
// of the first stream before the request of the next one.
nghttp3_ssize cl3_next_output(cl3_session *self, int64_t *id, int *is_last, nghttp3_vec *list, size_t capacity);
void cl3_begin_turn(cl3_stream *stream);
// These bytes of what `cl3_next_output` returned were sent, with the end if `is_last`.
int cl3_wrote(cl3_session *self, int64_t id, cl3_stream *stream, const nghttp3_vec *list, size_t count, bool is_last);

// ---- streams.c

cl3_stream *cl3_find(cl3_session *self, int64_t id);
void cl3_free_stream(cl3_session *self, cl3_stream *stream);
// Reports that a stream breaks a rule, and resets it. Without a text the response is truncated.
void cl3_fail_stream(cl3_session *self, cl3_stream *stream, uint64_t code, const char *text);
// Does the deferred work. Called when no library function is running.
void cl3_settle(cl3_session *self);

// ---- input.c: 0, or -1 with the problem set

int cl3_read(cl3_session *self, int64_t id, cl3_stream *stream, const uint8_t *bytes, size_t count, bool is_last);
int cl3_peer_reset(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t code);
int cl3_peer_stopped(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t code);
int cl3_acknowledged(cl3_session *self, int64_t id, uint64_t count);
// The transport's stream has ended.
int cl3_stream_closed(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t code);

// ---- what nghttp3 calls, each in the file of its subject

int cl3_on_begin_headers(nghttp3_conn *http, int64_t id, void *user, void *stream_user);
int cl3_on_header(
    nghttp3_conn *http, int64_t id, int32_t token, nghttp3_rcbuf *name_buffer, nghttp3_rcbuf *value_buffer,
    uint8_t flags, void *user, void *stream_user);
int cl3_on_end_headers(nghttp3_conn *http, int64_t id, int is_last, void *user, void *stream_user);
int cl3_on_trailer(
    nghttp3_conn *http, int64_t id, int32_t token, nghttp3_rcbuf *name, nghttp3_rcbuf *value, uint8_t flags,
    void *user, void *stream_user);
int cl3_on_end_trailers(nghttp3_conn *http, int64_t id, int is_last, void *user, void *stream_user);
int cl3_on_data(
    nghttp3_conn *http, int64_t id, const uint8_t *bytes, size_t count, void *user, void *stream_user);
int cl3_on_deferred_consume(nghttp3_conn *http, int64_t id, size_t count, void *user, void *stream_user);
int cl3_on_end_stream(nghttp3_conn *http, int64_t id, void *user, void *stream_user);
int cl3_on_acknowledged(nghttp3_conn *http, int64_t id, uint64_t count, void *user, void *stream_user);
int cl3_on_stop_sending(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user);
int cl3_on_reset_stream(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user);
int cl3_on_stream_close(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user);

#endif
