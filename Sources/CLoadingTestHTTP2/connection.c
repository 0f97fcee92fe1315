#include "CLoadingTestHTTP2.h"

#include "library.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(clth_field) == sizeof(nghttp2_nv), "a field is laid out as nghttp2's");
_Static_assert(offsetof(clth_field, value) == offsetof(nghttp2_nv, value), "a field is laid out as nghttp2's");
_Static_assert(offsetof(clth_field, name_length) == offsetof(nghttp2_nv, namelen), "a field is laid out as nghttp2's");
_Static_assert(offsetof(clth_field, value_length) == offsetof(nghttp2_nv, valuelen), "a field is laid out as nghttp2's");
_Static_assert(offsetof(clth_field, flags) == offsetof(nghttp2_nv, flags), "a field is laid out as nghttp2's");

struct clth_connection {
    const struct clth_nghttp2 *library;
    nghttp2_session *session;
    clth_callbacks callbacks;
    void *owner;
    // The head that is being received asks for 100 (Continue).
    bool expects_continue;
};

bool clth_is_available(void) { return clth_nghttp2() != NULL; }

static int on_header(
    nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length, const uint8_t *value,
    size_t value_length, uint8_t flags, void *user) {
    (void)session, (void)flags;
    clth_connection *self = user;
    // Trailers are dropped.
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    if (name_length == 6 && memcmp(name, "expect", 6) == 0) self->expects_continue = true;
    self->callbacks.field(self->owner, frame->hd.stream_id, name, name_length, value, value_length);
    return 0;
}

static int on_data(
    nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *user) {
    (void)session, (void)flags;
    clth_connection *self = user;
    self->callbacks.data(self->owner, stream, bytes, count);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    clth_connection *self = user;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
        self->callbacks.request(self->owner, frame->hd.stream_id);
    } else if (frame->hd.type == NGHTTP2_HEADERS && self->expects_continue) {
        const nghttp2_nv status = {
            .name = (uint8_t *)":status", .namelen = 7, .value = (uint8_t *)"100", .valuelen = 3, .flags = 0 };
        self->library->submit_headers(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NULL, &status, 1, NULL);
    }
    self->expects_continue = false;
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user) {
    (void)session, (void)code;
    clth_connection *self = user;
    self->callbacks.closed(self->owner, stream);
    return 0;
}

static ssize_t read_body(
    nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t capacity, uint32_t *flags, nghttp2_data_source *source,
    void *user) {
    (void)session, (void)source;
    clth_connection *self = user;
    bool is_last = false;
    const size_t count = self->callbacks.body(self->owner, stream, buffer, capacity, &is_last);
    if (is_last) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return count == 0 && !is_last ? NGHTTP2_ERR_DEFERRED : (ssize_t)count;
}

// How much of a body a client may send before it is read: as much as fits, since the server keeps it all.
enum { STREAM_WINDOW = 1 << 20, CONNECTION_WINDOW = 1 << 24 };

clth_connection *clth_connection_new(const clth_callbacks *callbacks, void *owner) {
    const struct clth_nghttp2 *library = clth_nghttp2();
    clth_connection *self = library == NULL ? NULL : calloc(1, sizeof *self);
    if (self == NULL) return NULL;
    self->library = library;
    self->callbacks = *callbacks;
    self->owner = owner;
    nghttp2_session_callbacks *table = NULL;
    if (library->session_callbacks_new(&table) == 0) {
        library->session_callbacks_set_on_header_callback(table, on_header);
        library->session_callbacks_set_on_data_chunk_recv_callback(table, on_data);
        library->session_callbacks_set_on_frame_recv_callback(table, on_frame);
        library->session_callbacks_set_on_stream_close_callback(table, on_stream_close);
        if (library->session_server_new(&self->session, table, self) != 0) self->session = NULL;
        library->session_callbacks_del(table);
    }
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100 },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
    };
    if (self->session != NULL
        && library->submit_settings(self->session, NGHTTP2_FLAG_NONE, settings, sizeof settings / sizeof *settings) == 0
        && library->session_set_local_window_size(self->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW) == 0)
        return self;
    clth_connection_free(self);
    return NULL;
}

void clth_connection_free(clth_connection *self) {
    if (self == NULL) return;
    self->library->session_del(self->session);
    free(self);
}

bool clth_receive(clth_connection *self, const uint8_t *bytes, size_t count) {
    return self->library->session_mem_recv(self->session, bytes, count) >= 0;
}

ptrdiff_t clth_send(clth_connection *self, const uint8_t **bytes) {
    return self->library->session_mem_send(self->session, bytes);
}

bool clth_is_open(clth_connection *self) {
    return self->library->session_want_read(self->session) || self->library->session_want_write(self->session);
}

bool clth_respond(clth_connection *self, int32_t stream, const clth_field *fields, size_t count, bool has_body) {
    const nghttp2_data_provider provider = { .read_callback = read_body };
    return self->library->submit_response(
               self->session, stream, (const nghttp2_nv *)fields, count, has_body ? &provider : NULL) == 0;
}

void clth_resume(clth_connection *self, int32_t stream) { self->library->session_resume_data(self->session, stream); }

void clth_reset(clth_connection *self, int32_t stream) {
    self->library->submit_rst_stream(self->session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_INTERNAL_ERROR);
}

void clth_go_away(clth_connection *self) {
    self->library->submit_goaway(
        self->session, NGHTTP2_FLAG_NONE, self->library->session_get_last_proc_stream_id(self->session), NGHTTP2_NO_ERROR, NULL, 0);
}
