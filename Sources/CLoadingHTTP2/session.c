#include "CLoadingHTTP2.h"

#include "library.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(clh_field) == sizeof(nghttp2_nv), "a field is laid out as nghttp2's");
_Static_assert(offsetof(clh_field, value) == offsetof(nghttp2_nv, value), "a field is laid out as nghttp2's");
_Static_assert(offsetof(clh_field, name_length) == offsetof(nghttp2_nv, namelen), "a field is laid out as nghttp2's");
_Static_assert(offsetof(clh_field, value_length) == offsetof(nghttp2_nv, valuelen), "a field is laid out as nghttp2's");
_Static_assert(offsetof(clh_field, flags) == offsetof(nghttp2_nv, flags), "a field is laid out as nghttp2's");
_Static_assert(CLH_NEVER_INDEXED == (int)NGHTTP2_NV_FLAG_NO_INDEX, "a flag has nghttp2's value");

struct clh_session {
    nghttp2_session *session;
    clh_callbacks callbacks;
    void *owner;
    clh_limits limits;

    // The section being received.
    uint8_t *bytes;
    size_t byte_count;
    size_t byte_capacity;
    clh_position *positions;
    size_t count;
    size_t capacity;
    int32_t status;
    int64_t body_length;
    bool is_malformed;
    // The size of the whole section, including fields over the limit, which are dropped.
    size_t total_bytes;
    size_t total_count;

    int failure;
};

// Slots start at 0; NULL means that the stream has none.
static void *from_slot(size_t slot) { return (void *)(uintptr_t)(slot + 1); }
static size_t to_slot(const void *data) { return (size_t)(uintptr_t)data - 1; }

size_t clh_slot(clh_session *session, int32_t stream) {
    return to_slot(clh_library.session_get_stream_user_data(session->session, stream));
}

// ---- sections

static bool has_room(clh_session *self, size_t more) {
    if (self->byte_capacity - self->byte_count < more) {
        size_t capacity = self->byte_capacity ? self->byte_capacity : 1024;
        while (capacity - self->byte_count < more) capacity *= 2;
        uint8_t *bytes = realloc(self->bytes, capacity);
        if (!bytes) return false;
        self->bytes = bytes;
        self->byte_capacity = capacity;
    }
    if (self->count == self->capacity) {
        size_t capacity = self->capacity ? self->capacity * 2 : 32;
        clh_position *positions = realloc(self->positions, capacity * sizeof *positions);
        if (!positions) return false;
        self->positions = positions;
        self->capacity = capacity;
    }
    return true;
}

static void begin_section(clh_session *self) {
    // Frees the buffer of an unusually long section.
    if (self->byte_capacity > 16384) {
        free(self->bytes);
        self->bytes = NULL;
        self->byte_capacity = 0;
    }
    self->byte_count = 0;
    self->count = 0;
    self->status = -1;
    self->body_length = -1;
    self->is_malformed = false;
    self->total_bytes = 0;
    self->total_count = 0;
}

static bool is_blank(uint8_t octet) { return octet == ' ' || octet == '\t'; }

// -1 if the text is not a number, or too large.
static int64_t number(const uint8_t *digits, size_t count) {
    int64_t value = 0;
    for (size_t index = 0; index < count; index++) {
        if (digits[index] < '0' || digits[index] > '9' || value > INT64_MAX / 10 - 1) return -1;
        value = value * 10 + (digits[index] - '0');
    }
    return count > 0 ? value : -1;
}

static int add_field(
    clh_session *self, const uint8_t *name, size_t name_length, const uint8_t *value, size_t value_length) {
    // RFC 9113 §8.2.1. Some versions of nghttp2 do not check this.
    if (value_length > 0 && (is_blank(value[0]) || is_blank(value[value_length - 1]))) self->is_malformed = true;
    if (name_length > 0 && name[0] == ':') {
        // nghttp2 has checked that this is the only :status, with three digits.
        if (value_length == 3) self->status = (value[0] - '0') * 100 + (value[1] - '0') * 10 + (value[2] - '0');
        return 0;
    }
    if (name_length == 14 && memcmp(name, "content-length", 14) == 0) self->body_length = number(value, value_length);
    self->total_bytes += name_length + value_length;
    self->total_count++;
    if (self->total_bytes > self->limits.section_bytes || self->total_count > self->limits.section_fields) {
        if (self->total_bytes / self->limits.section_excess > self->limits.section_bytes
            || self->total_count / self->limits.section_excess > self->limits.section_fields) {
            self->failure = CLH_SECTION_TOO_LONG;
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        return 0;
    }
    if (!has_room(self, name_length + value_length)) {
        self->failure = CLH_OUT_OF_MEMORY;
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    clh_position *position = &self->positions[self->count++];
    position->name_start = (uint32_t)self->byte_count;
    position->name_length = (uint32_t)name_length;
    memcpy(self->bytes + self->byte_count, name, name_length);
    self->byte_count += name_length;
    position->value_start = (uint32_t)self->byte_count;
    position->value_length = (uint32_t)value_length;
    if (value_length) memcpy(self->bytes + self->byte_count, value, value_length);
    self->byte_count += value_length;
    return 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    begin_section(user);
    return 0;
}

static int on_header(
    nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length, const uint8_t *value,
    size_t value_length, uint8_t flags, void *user) {
    return add_field(user, name, name_length, value, value_length);
}

// nghttp2's default is to ignore the field. An invalid name, or an octet that ends a line in HTTP/1.1, makes the response malformed.
// Other control characters are allowed, because servers send them in values.
static int on_invalid_header(
    nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length, const uint8_t *value,
    size_t value_length, uint8_t flags, void *user) {
    if (!clh_library.check_header_name(name, name_length)) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    for (size_t index = 0; index < value_length; index++) {
        if (value[index] == 0 || value[index] == '\r' || value[index] == '\n') {
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        }
    }
    return add_field(user, name, name_length, value, value_length);
}

static void report_section(clh_session *self, int32_t stream, size_t slot, bool ends_stream) {
    clh_section section = {
        .status = self->status,
        .ends_stream = ends_stream,
        .body_length = self->body_length,
        .bytes = self->bytes,
        .byte_count = self->byte_count,
        .positions = self->positions,
        .count = self->count,
    };
    self->callbacks.section(self->owner, stream, slot, &section);
}

static bool is_too_long(const clh_session *self) {
    return self->total_bytes > self->limits.section_bytes || self->total_count > self->limits.section_fields;
}

static void end_section(clh_session *self, const nghttp2_frame *frame) {
    int32_t stream = frame->hd.stream_id;
    size_t slot = clh_slot(self, stream);
    if (slot == SIZE_MAX) return;
    if (is_too_long(self)) {
        self->callbacks.invalid(self->owner, stream, slot, "The fields are too many or too long.");
        clh_library.submit_rst_stream(self->session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
        return;
    }
    if (self->is_malformed) {
        self->callbacks.invalid(self->owner, stream, slot, "The value of a field begins or ends with white space.");
        clh_library.submit_rst_stream(self->session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_PROTOCOL_ERROR);
        return;
    }
    report_section(self, stream, slot, (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
}

// ---- frames from the peer

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    clh_session *self = user;
    int32_t stream = frame->hd.stream_id;
    size_t slot;
    switch (frame->hd.type) {
    case NGHTTP2_DATA:
        slot = clh_slot(self, stream);
        if (slot != SIZE_MAX) {
            self->callbacks.data_frame(
                self->owner, stream, slot, frame->hd.length, (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
        }
        break;
    case NGHTTP2_HEADERS:
        end_section(self, frame);
        break;
    case NGHTTP2_RST_STREAM:
        slot = clh_slot(self, stream);
        if (slot != SIZE_MAX) self->callbacks.was_reset(self->owner, stream, slot, frame->rst_stream.error_code);
        break;
    case NGHTTP2_SETTINGS:
        if (!(frame->hd.flags & NGHTTP2_FLAG_ACK)) self->callbacks.settings(self->owner);
        break;
    case NGHTTP2_PING:
        if (frame->hd.flags & NGHTTP2_FLAG_ACK) self->callbacks.ping_answer(self->owner, frame->ping.opaque_data);
        break;
    case NGHTTP2_GOAWAY:
        self->callbacks.going_away(self->owner, frame->goaway.last_stream_id, frame->goaway.error_code);
        break;
    default:
        break;
    }
    return 0;
}

static int on_data(
    nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *user) {
    clh_session *self = user;
    size_t slot = clh_slot(self, stream);
    if (slot == SIZE_MAX) {
        clh_library.session_consume_connection(session, count);
    } else {
        self->callbacks.data(self->owner, stream, slot, bytes, count);
    }
    return 0;
}

static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error, void *user) {
    clh_session *self = user;
    // Other errors may be connection errors.
    if (error != NGHTTP2_ERR_HTTP_HEADER && error != NGHTTP2_ERR_HTTP_MESSAGING) return 0;
    size_t slot = frame->hd.stream_id > 0 ? clh_slot(self, frame->hd.stream_id) : SIZE_MAX;
    if (slot == SIZE_MAX) return 0;
    // In a valid section that ends its stream, only the body can be wrong: it is too short.
    bool is_end = frame->hd.type == NGHTTP2_HEADERS && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    bool is_head = self->status >= 200 && self->body_length > 0;
    bool is_in_order = !is_too_long(self) && !self->is_malformed;
    if (error == NGHTTP2_ERR_HTTP_MESSAGING && is_end && is_in_order && (is_head || self->status < 0)) {
        if (is_head) report_section(self, frame->hd.stream_id, slot, false);
        self->callbacks.truncated(self->owner, frame->hd.stream_id, slot);
    } else {
        self->callbacks.invalid(self->owner, frame->hd.stream_id, slot, clh_library.strerror(error));
    }
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user) {
    clh_session *self = user;
    size_t slot = clh_slot(self, stream);
    if (slot != SIZE_MAX) self->callbacks.closed(self->owner, stream, slot, code);
    return 0;
}

// ---- frames to the peer

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    clh_session *self = user;
    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR) {
        self->callbacks.gave_up(
            self->owner, frame->goaway.error_code, frame->goaway.opaque_data, frame->goaway.opaque_data_len);
    }
    return 0;
}

static ssize_t read_body(
    nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t length, uint32_t *flags,
    nghttp2_data_source *source, void *user) {
    clh_session *self = user;
    size_t slot = clh_slot(self, stream);
    size_t count = 0;
    if (slot == SIZE_MAX) return NGHTTP2_ERR_DEFERRED;
    switch (self->callbacks.body(self->owner, stream, slot, length, &count)) {
    case CLH_BODY_DATA:
        *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
        return (ssize_t)count;
    case CLH_BODY_LAST:
        *flags |= NGHTTP2_DATA_FLAG_NO_COPY | NGHTTP2_DATA_FLAG_EOF;
        return (ssize_t)count;
    default:
        return NGHTTP2_ERR_DEFERRED;
    }
}

static int send_body(
    nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head, size_t length, nghttp2_data_source *source,
    void *user) {
    clh_session *self = user;
    self->callbacks.body_frame(
        self->owner, frame->hd.stream_id, clh_slot(self, frame->hd.stream_id), head, length,
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0);
    // One frame per call, so that the caller can check its buffer before the next.
    return NGHTTP2_ERR_PAUSE;
}

// ---- the session

static nghttp2_session *make(clh_session *self) {
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    nghttp2_session *session = NULL;
    if (clh_library.session_callbacks_new(&callbacks) != 0) return NULL;
    if (clh_library.option_new(&option) == 0) {
        clh_library.session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
        clh_library.session_callbacks_set_on_header_callback(callbacks, on_header);
        clh_library.session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
        clh_library.session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        clh_library.session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        clh_library.session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
        clh_library.session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
        clh_library.session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
        clh_library.session_callbacks_set_send_data_callback(callbacks, send_body);
        clh_library.option_set_no_auto_window_update(option, 1);
        clh_library.option_set_max_reserved_remote_streams(option, 0);
        clh_library.option_set_max_outbound_ack(option, self->limits.unsent_answers);
        clh_library.option_set_max_send_header_block_length(option, self->limits.request_bytes);
        if (clh_library.option_set_max_continuations) {
            clh_library.option_set_max_continuations(option, self->limits.continuations);
        }
        if (clh_library.session_client_new2(&session, callbacks, self, option) != 0) session = NULL;
        clh_library.option_del(option);
    }
    clh_library.session_callbacks_del(callbacks);
    return session;
}

bool clh_is_available(void) { return clh_load(); }

clh_session *clh_session_new(const clh_callbacks *callbacks, void *owner, const clh_limits *limits) {
    if (!clh_load()) return NULL;
    clh_session *self = calloc(1, sizeof *self);
    if (!self) return NULL;
    self->callbacks = *callbacks;
    self->owner = owner;
    self->limits = *limits;
    self->session = make(self);
    if (!self->session) {
        free(self);
        return NULL;
    }
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits->stream_window},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)limits->section_bytes},
    };
    if (clh_library.submit_settings(self->session, NGHTTP2_FLAG_NONE, settings, sizeof settings / sizeof *settings) != 0
        || clh_library.session_set_local_window_size(
               self->session, NGHTTP2_FLAG_NONE, 0, (int32_t)limits->connection_window) != 0) {
        clh_session_free(self);
        return NULL;
    }
    return self;
}

void clh_session_free(clh_session *self) {
    clh_library.session_del(self->session);
    free(self->bytes);
    free(self->positions);
    free(self);
}

static int result(clh_session *self, ssize_t value) {
    if (value >= 0) return 0;
    if (self->failure) return self->failure;
    switch (value) {
    case NGHTTP2_ERR_NOMEM: return CLH_OUT_OF_MEMORY;
    case NGHTTP2_ERR_FLOODED: return CLH_FLOODED;
    case NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE: return CLH_NO_STREAM_LEFT;
    default: return CLH_REFUSED;
    }
}

int32_t clh_submit(clh_session *self, const clh_field *fields, size_t count, size_t slot, bool has_body) {
    nghttp2_data_provider provider = {.read_callback = read_body};
    int32_t stream = clh_library.submit_request(
        self->session, NULL, (const nghttp2_nv *)fields, count, has_body ? &provider : NULL, from_slot(slot));
    return stream > 0 ? stream : result(self, stream);
}

void clh_resume(clh_session *self, int32_t stream) { clh_library.session_resume_data(self->session, stream); }

void clh_reset(clh_session *self, int32_t stream, uint32_t code) {
    clh_library.submit_rst_stream(self->session, NGHTTP2_FLAG_NONE, stream, code);
}

void clh_ping(clh_session *self, const uint8_t payload[8]) {
    clh_library.submit_ping(self->session, NGHTTP2_FLAG_NONE, payload);
}

void clh_go_away(clh_session *self) {
    clh_library.submit_goaway(self->session, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, NULL, 0);
}

void clh_give_up(clh_session *self, uint32_t code) { clh_library.session_terminate_session(self->session, code); }

void clh_set_priority(clh_session *self, int32_t stream, const char *value, size_t length) {
    if (clh_library.submit_priority_update) {
        clh_library.submit_priority_update(
            self->session, NGHTTP2_FLAG_NONE, stream, (const uint8_t *)value, length);
    }
}

void clh_consume_stream(clh_session *self, int32_t stream, size_t count) {
    clh_library.session_consume_stream(self->session, stream, count);
}

void clh_consume_connection(clh_session *self, size_t count) {
    clh_library.session_consume_connection(self->session, count);
}

void clh_set_stream_window(clh_session *self, int32_t stream, int32_t size) {
    clh_library.session_set_local_window_size(self->session, NGHTTP2_FLAG_NONE, stream, size);
}

int clh_receive(clh_session *self, const uint8_t *bytes, size_t count) {
    return result(self, clh_library.session_mem_recv(self->session, bytes, count));
}

ptrdiff_t clh_send(clh_session *self, const uint8_t **bytes) {
    ssize_t count = clh_library.session_mem_send(self->session, bytes);
    return count >= 0 ? count : result(self, count);
}

bool clh_wants_read(clh_session *self) { return clh_library.session_want_read(self->session) != 0; }
bool clh_wants_write(clh_session *self) { return clh_library.session_want_write(self->session) != 0; }
bool clh_allows_requests(clh_session *self) { return clh_library.session_check_request_allowed(self->session) != 0; }
size_t clh_queue_length(clh_session *self) { return clh_library.session_get_outbound_queue_size(self->session); }

uint32_t clh_peer_maximum_streams(clh_session *self) {
    return clh_library.session_get_remote_settings(self->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

bool clh_peer_allows_extended_connect(clh_session *self) {
    return clh_library.session_get_remote_settings(self->session, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) != 0;
}
