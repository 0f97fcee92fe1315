#ifdef LOADING_HTTP3

#include "session.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(cl3_field) == sizeof(nghttp3_nv), "a field is laid out as nghttp3's");
_Static_assert(offsetof(cl3_field, value) == offsetof(nghttp3_nv, value), "a field is laid out as nghttp3's");
_Static_assert(offsetof(cl3_field, name_length) == offsetof(nghttp3_nv, namelen), "a field is laid out as nghttp3's");
_Static_assert(offsetof(cl3_field, value_length) == offsetof(nghttp3_nv, valuelen), "a field is laid out as nghttp3's");
_Static_assert(offsetof(cl3_field, flags) == offsetof(nghttp3_nv, flags), "a field is laid out as nghttp3's");
_Static_assert(CL3_NEVER_INDEXED == (int)NGHTTP3_NV_FLAG_NEVER_INDEX, "a flag has nghttp3's value");

// A section that is so many times too long ends the connection.
static const size_t hopeless = 4;
// What is asked of a body at a time. A larger frame saves few bytes, and this much has to be there before it goes out.
static const size_t chunk_capacity = 65536;
// What the tables of field compression may hold for the peer, and how many streams may wait for them.
static const size_t table_capacity = 4096;
static const size_t blocked_streams = 16;
// Streams whose cancellation the peer may be slow to hear of.
static const size_t unheard_cancellations = 1000;
// Content that is told at once.
static const size_t gathered_capacity = 32768;
// What a section is counted as, in bytes, whatever it says.
static const uint64_t section_overhead = 64;
// For each response the peer may fill the table anew, and some responses ahead.
static const uint64_t most_table_excused = 4 * 4096;

void cl3_set_problem(cl3_session *self, cl3_result result, uint64_t code, bool is_application, const char *text) {
    if (self->problem.result) return;
    self->problem.result = result;
    self->problem.code = code;
    self->problem.is_application = is_application;
    self->problem.text = (const uint8_t *)text;
    self->problem.text_length = text ? strlen(text) : 0;
}

static int http_failed(cl3_session *self, int error) {
    switch (error) {
    case NGHTTP3_ERR_NOMEM:
        cl3_set_problem(self, CL3_OUT_OF_MEMORY, NGHTTP3_H3_INTERNAL_ERROR, true, NULL);
        break;
    // A name or a value alone is more than nghttp3 takes. It has no code for that, and its generations choose different ones.
    case NGHTTP3_ERR_QPACK_HEADER_TOO_LARGE:
        cl3_set_problem(self, CL3_SECTION_TOO_LONG, NGHTTP3_H3_EXCESSIVE_LOAD, true, NULL);
        break;
    default:
        cl3_set_problem(
            self, CL3_VIOLATION, nghttp3_err_infer_quic_app_error_code(error), true, nghttp3_strerror(error));
    }
    return -1;
}

cl3_problem cl3_problem_of(cl3_session *self) { return self->problem; }

// ---- sections

static void end_section(struct section *section) {
    free(section->bytes);
    free(section->positions);
    memset(section, 0, sizeof *section);
}

static bool has_room(struct section *section, size_t more) {
    if (section->byte_capacity - section->byte_count < more) {
        size_t capacity = section->byte_capacity ? section->byte_capacity : 1024;
        while (capacity - section->byte_count < more) capacity *= 2;
        uint8_t *bytes = realloc(section->bytes, capacity);
        if (!bytes) return false;
        section->bytes = bytes;
        section->byte_capacity = capacity;
    }
    if (section->count == section->capacity) {
        size_t capacity = section->capacity ? section->capacity * 2 : 32;
        cl3_position *positions = realloc(section->positions, capacity * sizeof *positions);
        if (!positions) return false;
        section->positions = positions;
        section->capacity = capacity;
    }
    return true;
}

static bool is_too_long(const cl3_session *self, const struct section *section) {
    return section->total_bytes > self->limits.section_bytes || section->total_count > self->limits.section_fields;
}

static int on_begin_headers(nghttp3_conn *http, int64_t id, void *user, void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    if (!stream) return 0;
    end_section(&stream->section);
    stream->section.status = -1;
    size_t length = (size_t)nghttp3_conn_get_frame_payload_left(http, id);
    // Each of its bytes is a field at the least, or part of one.
    if (length / hopeless > self->limits.section_bytes) {
        cl3_set_problem(self, CL3_SECTION_TOO_LONG, NGHTTP3_H3_EXCESSIVE_LOAD, true, NULL);
        return NGHTTP3_ERR_CALLBACK_FAILURE;
    }
    stream->section.wire_length = 1 + (length < 64 ? 1 : length < 16384 ? 2 : 4) + length;
    // What it says is bounded by itself.
    self->excused += length;
    self->overhead += section_overhead;
    return 0;
}

// Counts a field. 1: it may be kept.
static int count_field(cl3_session *self, cl3_stream *stream, size_t length) {
    struct section *section = &stream->section;
    section->total_bytes += length;
    section->total_count++;
    if (!is_too_long(self, section)) return 1;
    if (section->total_bytes / hopeless > self->limits.section_bytes
        || section->total_count / hopeless > self->limits.section_fields) {
        cl3_set_problem(self, CL3_SECTION_TOO_LONG, NGHTTP3_H3_EXCESSIVE_LOAD, true, NULL);
        return NGHTTP3_ERR_CALLBACK_FAILURE;
    }
    return 0;
}

// nghttp3 lets some of them pass, and what ends a line elsewhere is in no value that anybody may have meant.
static bool has_line_end(nghttp3_vec value) {
    for (size_t index = 0; index < value.len; index++) {
        uint8_t octet = value.base[index];
        if (octet == 0 || octet == '\r' || octet == '\n') return true;
    }
    return false;
}

// 0 if it is no number, or none that a body may have.
static int64_t number(nghttp3_vec digits) {
    int64_t value = 0;
    for (size_t index = 0; index < digits.len; index++) {
        uint8_t digit = digits.base[index];
        if (digit < '0' || digit > '9' || value > INT64_MAX / 10 - 1) return 0;
        value = value * 10 + (digit - '0');
    }
    return value;
}

static int on_header(
    nghttp3_conn *http, int64_t id, int32_t token, nghttp3_rcbuf *name_buffer, nghttp3_rcbuf *value_buffer,
    uint8_t flags, void *user, void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    if (!stream) return 0;
    struct section *section = &stream->section;
    nghttp3_vec name = nghttp3_rcbuf_get_buf(name_buffer);
    nghttp3_vec value = nghttp3_rcbuf_get_buf(value_buffer);
    stream->told_lines++;
    if (name.len > 0 && name.base[0] == ':') {
        // nghttp3 has seen to it that this is :status, three digits, and once.
        if (value.len == 3) {
            section->status = (value.base[0] - '0') * 100 + (value.base[1] - '0') * 10 + (value.base[2] - '0');
        }
        return 0;
    }
    if (name.len == 0 || has_line_end(value)) section->is_malformed = true;
    if (token == NGHTTP3_QPACK_TOKEN_CONTENT_LENGTH) section->body_length = number(value);
    int result = count_field(self, stream, name.len + value.len);
    if (result <= 0) return result;
    if (!has_room(section, name.len + value.len)) return NGHTTP3_ERR_NOMEM;
    cl3_position *position = &section->positions[section->count++];
    position->name_start = (uint32_t)section->byte_count;
    position->name_length = (uint32_t)name.len;
    if (name.len) memcpy(section->bytes + section->byte_count, name.base, name.len);
    section->byte_count += name.len;
    position->value_start = (uint32_t)section->byte_count;
    position->value_length = (uint32_t)value.len;
    if (value.len) memcpy(section->bytes + section->byte_count, value.base, value.len);
    section->byte_count += value.len;
    return 0;
}

// Without a text the response is truncated.
static void fail_stream(cl3_session *self, cl3_stream *stream, uint64_t code, const char *text) {
    cl3_tell_gathered(self);
    if (stream->slot != SIZE_MAX && !stream->is_reset) {
        if (text) self->callbacks.invalid(self->owner, stream->slot, text);
        else self->callbacks.truncated(self->owner, stream->slot);
    }
    cl3_reset(self, stream, code);
}

// nghttp3 takes a `content-length` out where none is meant: of interim responses, of 204 and of trailers.
static bool is_missing_fields(cl3_stream *stream, bool may_lack_length) {
    stream->told_sections++;
    if (may_lack_length) stream->excused_lines++;
    bool is_missing =
        cl3_is_missing_fields(&stream->counter, stream->told_sections, stream->told_lines, stream->excused_lines);
    if (stream->told_sections == stream->counter.sections) {
        stream->told_lines = stream->counter.lines;
        stream->excused_lines = 0;
    }
    return is_missing;
}

static const char malformed_field[] = "A field holds what no field may.";

static int on_end_headers(nghttp3_conn *http, int64_t id, int is_last, void *user, void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    if (!stream) return 0;
    cl3_tell_gathered(self);
    struct section *section = &stream->section;
    if (is_missing_fields(stream, section->status < 200 || section->status == 204)) section->is_malformed = true;
    if (section->status >= 200) {
        stream->body_length = section->body_length;
        self->table_excused += table_capacity;
        if (self->table_excused > most_table_excused) self->table_excused = most_table_excused;
    }
    if (is_too_long(self, section)) {
        fail_stream(self, stream, NGHTTP3_H3_REQUEST_CANCELLED, "The fields are too many or too long.");
    } else if (section->is_malformed) {
        fail_stream(self, stream, NGHTTP3_H3_MESSAGE_ERROR, malformed_field);
    } else if (stream->slot != SIZE_MAX && !stream->is_reset) {
        cl3_section whole = {
            .status = section->status,
            .ends_stream = is_last != 0,
            .wire_length = section->wire_length,
            .bytes = section->bytes,
            .byte_count = section->byte_count,
            .positions = section->positions,
            .count = section->count,
        };
        self->callbacks.section(self->owner, stream->slot, &whole);
    }
    end_section(section);
    return 0;
}

// Trailers are read and dropped, but not for ever.
static int on_trailer(
    nghttp3_conn *http, int64_t id, int32_t token, nghttp3_rcbuf *name, nghttp3_rcbuf *value, uint8_t flags,
    void *user, void *stream_user) {
    cl3_stream *stream = stream_user;
    if (!stream) return 0;
    stream->told_lines++;
    nghttp3_vec content = nghttp3_rcbuf_get_buf(value);
    if (has_line_end(content)) stream->section.is_malformed = true;
    int result = count_field(user, stream, nghttp3_rcbuf_get_buf(name).len + content.len);
    return result < 0 ? result : 0;
}

static int on_end_trailers(nghttp3_conn *http, int64_t id, int is_last, void *user, void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    if (!stream) return 0;
    bool is_missing = is_missing_fields(stream, true);
    if (is_too_long(self, &stream->section)) {
        fail_stream(self, stream, NGHTTP3_H3_REQUEST_CANCELLED, "The fields are too many or too long.");
    } else if (is_missing || stream->section.is_malformed) {
        fail_stream(self, stream, NGHTTP3_H3_MESSAGE_ERROR, malformed_field);
    }
    end_section(&stream->section);
    return 0;
}

// ---- content

static void give_credit(cl3_session *self, cl3_stream *stream, uint64_t count) {
    if (stream && count) {
        stream->credit += count;
        self->has_stream_work = true;
    }
    self->credit += count;
}

// What nghttp3 has held of a stream and lets go of: how much of it the connection has not got back.
static size_t release(cl3_stream *stream, size_t count) {
    size_t taken = count < stream->held ? count : stream->held;
    stream->held -= taken;
    return taken;
}

void cl3_tell_gathered(cl3_session *self) {
    cl3_stream *stream = self->gathering;
    if (!stream) return;
    size_t count = self->gathered_count;
    self->gathering = NULL;
    self->gathered_count = 0;
    if (stream->slot != SIZE_MAX && !stream->is_reset) {
        self->callbacks.data(self->owner, stream->slot, self->gathered, count, self->gathered_pieces);
    } else {
        self->credit += count;
    }
}

// False if it cannot be kept, and has to be told as it is.
static bool gather(cl3_session *self, cl3_stream *stream, const uint8_t *bytes, size_t count) {
    if (count >= gathered_capacity / 2) return false;
    if (!self->gathered) self->gathered = malloc(gathered_capacity);
    if (!self->gathered) return false;
    if (!self->gathering) self->gathered_pieces = 0;
    self->gathering = stream;
    memcpy(self->gathered + self->gathered_count, bytes, count);
    self->gathered_count += count;
    self->gathered_pieces++;
    return true;
}

static int on_data(
    nghttp3_conn *http, int64_t id, const uint8_t *bytes, size_t count, void *user, void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    if (!stream) return 0;
    size_t unreturned = count;
    stream->content += (int64_t)count;
    if (stream == self->reading) self->read_body += count;
    else unreturned = release(stream, count);
    if (self->gathering != stream || count > gathered_capacity - self->gathered_count) cl3_tell_gathered(self);
    if (stream->slot == SIZE_MAX || stream->is_reset) {
        self->credit += unreturned;
    } else if (unreturned < count || !gather(self, stream, bytes, count)) {
        cl3_tell_gathered(self);
        self->callbacks.data(self->owner, stream->slot, bytes, count, 1);
    }
    return 0;
}

static int on_deferred_consume(nghttp3_conn *http, int64_t id, size_t count, void *user, void *stream_user) {
    if (stream_user) give_credit(user, stream_user, release(stream_user, count));
    return 0;
}

static int on_end_stream(nghttp3_conn *http, int64_t id, void *user, void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    if (!stream || stream->is_ended) return 0;
    stream->is_ended = true;
    cl3_tell_gathered(self);
    if (stream->slot != SIZE_MAX && !stream->is_reset) self->callbacks.ended(self->owner, stream->slot);
    return 0;
}

static int on_acknowledged(nghttp3_conn *http, int64_t id, uint64_t count, void *user, void *stream_user) {
    cl3_stream *stream = stream_user;
    if (!stream) return 0;
    while (count > 0 && stream->first) {
        struct chunk *chunk = stream->first;
        size_t left = chunk->count - chunk->acknowledged;
        size_t taken = count < left ? (size_t)count : left;
        chunk->acknowledged += taken;
        stream->unacknowledged -= taken;
        count -= taken;
        if (chunk->acknowledged < chunk->count) break;
        if (stream->unsent == chunk) stream->unsent = chunk->next;
        if (stream->last == chunk) stream->last = NULL;
        stream->first = chunk->next;
        free(chunk);
    }
    if (stream->is_full && stream->unacknowledged < ((cl3_session *)user)->limits.unacknowledged) {
        stream->is_full = false;
        nghttp3_conn_resume_stream(http, id);
    }
    return 0;
}

static size_t frame_head_length(size_t count) {
    return 1 + (count < 64 ? 1 : count < 16384 ? 2 : count < 1073741824 ? 4 : 8);
}

static nghttp3_ssize read_body(
    nghttp3_conn *http, int64_t id, nghttp3_vec *list, size_t capacity, uint32_t *flags, void *user,
    void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    if (!stream || stream->slot == SIZE_MAX || stream->is_reset || capacity == 0) return NGHTTP3_ERR_WOULDBLOCK;
    if (stream->unacknowledged >= self->limits.unacknowledged) {
        stream->is_full = true;
        return NGHTTP3_ERR_WOULDBLOCK;
    }
    struct chunk *chunk = malloc(sizeof *chunk + chunk_capacity);
    if (!chunk) return NGHTTP3_ERR_NOMEM;
    size_t count = 0;
    stream->is_asked = true;
    cl3_body result = self->callbacks.body(self->owner, stream->slot, chunk->bytes, chunk_capacity, &count);
    stream->is_asked = false;
    if (result == CL3_BODY_LATER || count == 0) {
        free(chunk);
        if (result != CL3_BODY_LAST || stream->is_reset) return NGHTTP3_ERR_WOULDBLOCK;
        *flags |= NGHTTP3_DATA_FLAG_EOF;
        return 0;
    }
    if (count < chunk_capacity / 2) {
        struct chunk *smaller = realloc(chunk, sizeof *chunk + count);
        if (smaller) chunk = smaller;
    }
    chunk->next = NULL;
    chunk->count = count;
    chunk->acknowledged = 0;
    chunk->frame_head = frame_head_length(count);
    stream->body_end += chunk->frame_head + count;
    chunk->end = stream->body_end;
    if (stream->last) stream->last->next = chunk;
    else stream->first = chunk;
    stream->last = chunk;
    if (!stream->unsent) stream->unsent = chunk;
    stream->unacknowledged += count;
    if (result == CL3_BODY_LAST) *flags |= NGHTTP3_DATA_FLAG_EOF;
    list[0].base = chunk->bytes;
    list[0].len = count;
    return 1;
}

// ---- what nghttp3 wants of the transport

// Of a message that is malformed nghttp3 wants this and no more; whose stream it is has to hear of it.
static int on_stop_sending(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user) {
    cl3_session *self = user;
    if (stream_user) fail_stream(self, stream_user, code, "The message is malformed.");
    else self->transport->stop_reading(self, id, NULL, code);
    return 0;
}

static int on_reset_stream(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user) {
    cl3_session *self = user;
    if (stream_user) cl3_reset(self, stream_user, code);
    else self->transport->stop_writing(self, id, NULL, code);
    return 0;
}

static int on_shutdown(nghttp3_conn *http, int64_t id, void *user) {
    cl3_session *self = user;
    self->callbacks.going_away(self->owner, id);
    return 0;
}

static void free_stream(cl3_session *self, cl3_stream *stream);

// After the transport's own end, or when what was held of the stream was read.
static int on_stream_close(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    cl3_tell_gathered(self);
    if (!stream) return 0;
    self->credit += stream->held;
    size_t slot = stream->slot;
    stream->slot = SIZE_MAX;
    if (slot != SIZE_MAX) self->callbacks.closed(self->owner, slot);
    free_stream(self, stream);
    return 0;
}

int cl3_start_http(cl3_session *self) {
    nghttp3_callbacks callbacks = {
        .acked_stream_data = on_acknowledged,
        .stream_close = on_stream_close,
        .recv_data = on_data,
        .deferred_consume = on_deferred_consume,
        .begin_headers = on_begin_headers,
        .recv_header = on_header,
        .end_headers = on_end_headers,
        .begin_trailers = on_begin_headers,
        .recv_trailer = on_trailer,
        .end_trailers = on_end_trailers,
        .stop_sending = on_stop_sending,
        .end_stream = on_end_stream,
        .reset_stream = on_reset_stream,
        .shutdown = on_shutdown,
    };
    nghttp3_settings settings;
    nghttp3_settings_default(&settings);
    settings.max_field_section_size = self->limits.section_bytes;
    settings.qpack_max_dtable_capacity = table_capacity;
    settings.qpack_blocked_streams = blocked_streams;
    int64_t control, encoder, decoder;
    if (self->transport->open(self, false, &control, NULL) != 0
        || self->transport->open(self, false, &encoder, NULL) != 0
        || self->transport->open(self, false, &decoder, NULL) != 0) {
        cl3_set_problem(
            self, CL3_VIOLATION, NGHTTP3_H3_GENERAL_PROTOCOL_ERROR, true, "There is no room for the streams of HTTP/3.");
        return -1;
    }
    int result = nghttp3_conn_client_new(&self->http, &callbacks, &settings, nghttp3_mem_default(), self);
    if (result != 0) {
        self->http = NULL;
        return http_failed(self, result);
    }
    nghttp3_conn_set_max_concurrent_streams(self->http, unheard_cancellations);
    result = nghttp3_conn_bind_control_stream(self->http, control);
    if (result == 0) result = nghttp3_conn_bind_qpack_streams(self->http, encoder, decoder);
    if (result != 0) {
        nghttp3_conn_del(self->http);
        self->http = NULL;
        return http_failed(self, result);
    }
    return 0;
}

// ---- streams

static void free_stream(cl3_session *self, cl3_stream *stream) {
    for (cl3_stream **marked = &self->marked; *marked; marked = &(*marked)->next_marked) {
        if (*marked != stream) continue;
        *marked = stream->next_marked;
        break;
    }
    if (self->reading == stream) self->reading = NULL;
    if (self->gathering == stream) {
        self->gathering = NULL;
        self->gathered_count = 0;
    }
    if (stream->previous) stream->previous->next = stream->next;
    else self->streams = stream->next;
    if (stream->next) stream->next->previous = stream->previous;
    end_section(&stream->section);
    while (stream->first) {
        struct chunk *next = stream->first->next;
        free(stream->first);
        stream->first = next;
    }
    free(stream);
}

void cl3_end_http(cl3_session *self) {
    if (self->http) nghttp3_conn_del(self->http);
    self->http = NULL;
    while (self->streams) free_stream(self, self->streams);
}

void cl3_free(cl3_session *self) {
    // The transport first: it has pointers to what the streams hold.
    self->transport->free(self);
    cl3_end_http(self);
    free(self->gathered);
    free(self);
}

cl3_stream *cl3_find(cl3_session *self, int64_t id) {
    for (cl3_stream *stream = self->streams; stream; stream = stream->next) {
        if (stream->id == id) return stream;
    }
    return NULL;
}

int64_t cl3_submit(
    cl3_session *self, const cl3_field *fields, size_t count, size_t slot, bool has_body, cl3_stream **result) {
    if (self->is_over || !self->http || self->is_leaving) return CL3_NO_STREAM;
    cl3_stream *stream = calloc(1, sizeof *stream);
    if (!stream) return CL3_OUT_OF_MEMORY;
    stream->slot = slot;
    if (self->transport->open(self, true, &stream->id, stream) != 0) {
        free(stream);
        return CL3_NO_STREAM;
    }
    stream->next = self->streams;
    if (self->streams) self->streams->previous = stream;
    self->streams = stream;
    nghttp3_data_reader reader = {.read_data = read_body};
    int error = nghttp3_conn_submit_request(
        self->http, stream->id, (const nghttp3_nv *)fields, count, has_body ? &reader : NULL, stream);
    if (error != 0) {
        // nghttp3 does not know it, so it only has to be closed.
        stream->slot = SIZE_MAX;
        cl3_reset(self, stream, NGHTTP3_H3_REQUEST_CANCELLED);
        return error == NGHTTP3_ERR_NOMEM ? CL3_OUT_OF_MEMORY : CL3_NO_STREAM;
    }
    *result = stream;
    return stream->id;
}

uint64_t cl3_streams_left(cl3_session *self) {
    return self->is_over || !self->http || self->is_leaving ? 0 : self->transport->streams_left(self);
}

void cl3_resume(cl3_session *self, cl3_stream *stream) {
    if (self->is_over || !self->http || stream->is_reset) return;
    // What the answer to the question in work will be is not known here.
    if (stream->is_asked) stream->is_resumed = self->has_stream_work = true;
    else if (!stream->is_full) nghttp3_conn_resume_stream(self->http, stream->id);
}

void cl3_reset(cl3_session *self, cl3_stream *stream, uint64_t code) {
    if (stream->is_reset) return;
    stream->is_reset = true;
    stream->code = code;
    stream->is_marked = true;
    stream->next_marked = self->marked;
    self->marked = stream;
    if (!self->is_in_library) cl3_settle(self);
}

void cl3_detach(cl3_session *self, cl3_stream *stream) { stream->slot = SIZE_MAX; }

size_t cl3_received(cl3_stream *stream) { return stream->received; }

size_t cl3_unacknowledged(cl3_stream *stream) { return stream->unacknowledged; }

void cl3_set_priority(cl3_session *self, cl3_stream *stream, uint32_t urgency, bool is_incremental) {
    if (self->is_over || !self->http || stream->is_reset || urgency > 7) return;
#if CL3_NGHTTP3_IS_STABLE
    uint8_t value[] = {'u', '=', (uint8_t)('0' + urgency), ',', 'i'};
    nghttp3_conn_set_client_stream_priority(self->http, stream->id, value, is_incremental ? 5 : 3);
#else
    nghttp3_pri priority = {.urgency = urgency, .inc = is_incremental};
    nghttp3_conn_set_stream_priority(self->http, stream->id, &priority);
#endif
}

void cl3_go_away(cl3_session *self) {
    if (self->is_over || self->is_leaving) return;
    self->is_leaving = true;
    if (self->http) nghttp3_conn_shutdown(self->http);
}

void cl3_extend_stream(cl3_session *self, cl3_stream *stream, uint64_t count) {
    if (self->is_over || stream->is_reset || stream->is_read_shut) return;
    if (self->is_in_library) {
        stream->credit += count;
        self->has_stream_work = true;
    } else {
        self->transport->extend_stream(self, stream->id, stream, count);
    }
}

void cl3_extend_connection(cl3_session *self, uint64_t count) {
    self->credit += count;
    if (!self->is_in_library) cl3_settle(self);
}

uint64_t cl3_take_overhead(cl3_session *self) {
    uint64_t excused = self->excused < self->overhead ? self->excused : self->overhead;
    uint64_t overhead = self->overhead - excused;
    self->excused -= excused;
    self->overhead = 0;
    uint64_t table_excused = self->table_excused < overhead ? self->table_excused : overhead;
    self->table_excused -= table_excused;
    return overhead - table_excused;
}

uint64_t cl3_take_foreign(cl3_session *self) {
    uint64_t foreign = self->foreign;
    self->foreign = 0;
    return foreign;
}

static void settle_stream(cl3_session *self, cl3_stream *stream) {
    if (stream->credit && !stream->is_read_shut) {
        self->transport->extend_stream(self, stream->id, stream, stream->credit);
    }
    stream->credit = 0;
    if (stream->is_resumed) {
        stream->is_resumed = false;
        cl3_resume(self, stream);
    }
}

void cl3_settle(cl3_session *self) {
    if (self->is_over) return;
    while (self->marked) {
        cl3_stream *stream = self->marked;
        self->marked = stream->next_marked;
        stream->is_marked = false;
        if (!stream->is_read_shut) {
            stream->is_read_shut = true;
            self->credit += release(stream, stream->held);
            self->transport->stop_reading(self, stream->id, stream, stream->code);
            if (self->http) {
                int error = nghttp3_conn_shutdown_stream_read(self->http, stream->id);
                if (error != 0 && error != NGHTTP3_ERR_STREAM_NOT_FOUND) http_failed(self, error);
            }
        }
        if (!stream->is_write_shut) {
            stream->is_write_shut = true;
            self->transport->stop_writing(self, stream->id, stream, stream->code);
            if (self->http) nghttp3_conn_shutdown_stream_write(self->http, stream->id);
        }
    }
    if (self->has_stream_work) {
        self->has_stream_work = false;
        for (cl3_stream *stream = self->streams; stream; stream = stream->next) settle_stream(self, stream);
    }
    if (self->credit) {
        self->transport->extend(self, self->credit);
        self->credit = 0;
    }
}

// ---- from the transport

static int read_piece(
    cl3_session *self, int64_t id, cl3_stream *stream, const uint8_t *bytes, size_t count, bool is_last) {
    if (!self->http) {
        // Before the handshake there is nothing to be read.
        cl3_set_problem(self, CL3_VIOLATION, NGHTTP3_H3_GENERAL_PROTOCOL_ERROR, true, "There is data too early.");
        return -1;
    }
    // The transport keeps account of what nobody reads.
    if (stream && stream->is_read_shut) return 0;
    if (stream && stream->is_broken) {
        // More of a message that was malformed, before the transport could be told to stop.
        self->credit += count;
        self->overhead += count;
        return 0;
    }
    if (stream && is_last && count == 0 && stream->received == 0) {
        // nghttp3 takes nothing for a response.
        fail_stream(self, stream, NGHTTP3_H3_MESSAGE_ERROR, "The stream ends before its response.");
        return 0;
    }
    if (stream) stream->received += count;
    self->reading = stream;
    self->read_body = 0;
    nghttp3_ssize consumed = nghttp3_conn_read_stream(self->http, id, bytes, count, is_last);
    size_t body = self->read_body;
    self->reading = NULL;
    if (self->problem.result) return -1;
    if (consumed < 0) {
        if (!stream
            || (consumed != NGHTTP3_ERR_MALFORMED_HTTP_HEADER && consumed != NGHTTP3_ERR_MALFORMED_HTTP_MESSAGING)) {
            return http_failed(self, (int)consumed);
        }
        // The message is malformed and ends its stream. Nothing more of it comes to nghttp3.
        self->credit += count - body;
        self->overhead += count - body;
        stream->is_broken = true;
        // Content that there is too much of is left in its frame.
        bool is_truncated = consumed == NGHTTP3_ERR_MALFORMED_HTTP_MESSAGING && is_last
            && stream->content < stream->body_length && nghttp3_conn_get_frame_payload_left(self->http, id) == 0;
        fail_stream(
            self, stream, NGHTTP3_H3_MESSAGE_ERROR, is_truncated ? NULL : nghttp3_strerror((int)consumed));
        return 0;
    }
    self->overhead += (size_t)consumed;
    give_credit(self, stream, (uint64_t)consumed);
    if (stream) {
        size_t done = (size_t)consumed + body;
        stream->held += count > done ? count - done : 0;
    } else {
        self->transport->extend_stream(self, id, NULL, (uint64_t)consumed);
    }
    return 0;
}

int cl3_read(
    cl3_session *self, int64_t id, cl3_stream *stream, const uint8_t *bytes, size_t count, bool is_last) {
    if (!stream) return read_piece(self, id, stream, bytes, count, is_last);
    // Section by section, so that each is looked at when nghttp3 has told it and before any of it is passed on.
    size_t done = 0;
    do {
        size_t piece = cl3_count_fields(&stream->counter, bytes + done, count - done);
        int result = read_piece(self, id, stream, bytes + done, piece, is_last && done + piece == count);
        if (result != 0) return result;
        done += piece;
    } while (done < count);
    return 0;
}

int cl3_peer_reset(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t code) {
    if (!self->http) return 0;
    // Of a stream that the connection needs this is the end of both, and not every ngtcp2 tells of it as closed.
    int error = !stream && (id & 3) == 3 ? nghttp3_conn_close_stream(self->http, id, code)
                                         : nghttp3_conn_shutdown_stream_read(self->http, id);
    if (error != 0 && error != NGHTTP3_ERR_STREAM_NOT_FOUND) return http_failed(self, error);
    if (!stream || stream->is_read_shut) return 0;
    cl3_tell_gathered(self);
    stream->is_read_shut = true;
    if (stream->slot != SIZE_MAX && !stream->is_reset && !stream->is_ended) {
        self->callbacks.was_reset(self->owner, stream->slot, code);
    }
    // Without a response the rest of the request is for nobody.
    if (!stream->is_ended) cl3_reset(self, stream, NGHTTP3_H3_REQUEST_CANCELLED);
    return 0;
}

int cl3_peer_stopped(cl3_session *self, int64_t id, cl3_stream *stream) {
    if (!self->http) return 0;
    if (!stream && (id & 3) == 2) {
        // Nothing could be written to it ever after.
        return http_failed(self, NGHTTP3_ERR_H3_CLOSED_CRITICAL_STREAM);
    }
    nghttp3_conn_shutdown_stream_write(self->http, id);
    if (stream) stream->is_write_shut = true;
    return 0;
}

int cl3_acknowledged(cl3_session *self, int64_t id, uint64_t count) {
    if (!self->http) return 0;
    int error = nghttp3_conn_add_ack_offset(self->http, id, count);
    return error == 0 || error == NGHTTP3_ERR_STREAM_NOT_FOUND ? 0 : http_failed(self, error);
}

int cl3_stream_closed(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t code) {
    // nghttp3 keeps a stream until all of it was read.
    if (stream) stream->is_closing = true;
    int error = self->http ? nghttp3_conn_close_stream(self->http, id, code) : NGHTTP3_ERR_STREAM_NOT_FOUND;
    if (error != NGHTTP3_ERR_STREAM_NOT_FOUND) return error == 0 ? 0 : http_failed(self, error);
    return on_stream_close(self->http, id, code, self, stream);
}

// The length of the HEADERS frame at the start of a request, or 0.
static uint64_t first_frame_length(const uint8_t *bytes, size_t count) {
    if (count < 2 || bytes[0] != 1) return 0;
    size_t octets = (size_t)1 << (bytes[1] >> 6);
    if (count < 1 + octets) return 0;
    uint64_t length = bytes[1] & 0x3F;
    for (size_t index = 1; index < octets; index++) length = length << 8 | bytes[1 + index];
    return 1 + octets + length;
}

static void tell_body(cl3_session *self, cl3_stream *stream, uint64_t written) {
    uint64_t sent = written > stream->head_length ? written - stream->head_length : 0;
    while (stream->unsent && stream->unsent->end <= sent) {
        struct chunk *chunk = stream->unsent;
        stream->unsent = chunk->next;
        if (stream->slot != SIZE_MAX && !stream->is_reset) {
            self->callbacks.sent_body(self->owner, stream->slot, chunk->count, chunk->frame_head + chunk->count);
        }
    }
}

int cl3_wrote(
    cl3_session *self, int64_t id, cl3_stream *stream, const nghttp3_vec *list, size_t count, bool is_last) {
    if (stream && !stream->head_length && list[0].len > 0) {
        stream->head_length = first_frame_length(list[0].base, list[0].len);
        if (!stream->head_length) stream->head_length = list[0].len;
    }
    int error = nghttp3_conn_add_write_offset(self->http, id, count);
    if (error != 0 && error != NGHTTP3_ERR_STREAM_NOT_FOUND) return http_failed(self, error);
    if (!stream) return 0;
    stream->written += count;
    bool is_told = stream->slot != SIZE_MAX && !stream->is_reset;
    if (!stream->is_head_told && (stream->written >= stream->head_length || is_last)) {
        stream->is_head_told = true;
        if (is_told) self->callbacks.sent_head(self->owner, stream->slot, (size_t)stream->head_length);
    }
    tell_body(self, stream, is_last ? UINT64_MAX : stream->written);
    if (is_last && !stream->is_request_told) {
        stream->is_request_told = true;
        stream->is_write_shut = true;
        if (stream->slot != SIZE_MAX && !stream->is_reset) self->callbacks.sent_request(self->owner, stream->slot);
    }
    return 0;
}

#endif
