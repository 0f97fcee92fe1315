// Header and trailer sections, as nghttp3 passes on their fields.
#ifdef LOADING_HTTP3

#include "session.h"

#include <stdlib.h>
#include <string.h>

void cl3_end_section(struct section *section) {
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

int cl3_on_begin_headers(nghttp3_conn *http, int64_t id, void *user, void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    if (!stream) return 0;
    cl3_end_section(&stream->section);
    stream->section.status = -1;
    size_t length = (size_t)nghttp3_conn_get_frame_payload_left(http, id);
    // Each of its bytes is part of a field.
    if (length / self->limits.section_excess > self->limits.section_bytes) {
        cl3_set_problem(self, CL3_SECTION_TOO_LONG, NGHTTP3_H3_EXCESSIVE_LOAD, true, NULL);
        return NGHTTP3_ERR_CALLBACK_FAILURE;
    }
    stream->section.wire_length = 1 + (length < 64 ? 1 : length < 16384 ? 2 : 4) + length;
    self->work.sections++;
    self->work.section_bytes += length;
    return 0;
}

// Counts a field. 1: it may be kept.
static int count_field(cl3_session *self, cl3_stream *stream, size_t length) {
    struct section *section = &stream->section;
    section->total_bytes += length;
    section->total_count++;
    if (!is_too_long(self, section)) return 1;
    if (section->total_bytes / self->limits.section_excess > self->limits.section_bytes
        || section->total_count / self->limits.section_excess > self->limits.section_fields) {
        cl3_set_problem(self, CL3_SECTION_TOO_LONG, NGHTTP3_H3_EXCESSIVE_LOAD, true, NULL);
        return NGHTTP3_ERR_CALLBACK_FAILURE;
    }
    return 0;
}

// nghttp3 accepts some of these octets, which end a line in HTTP/1.1 and could forge a field.
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

int cl3_on_header(
    nghttp3_conn *http, int64_t id, int32_t token, nghttp3_rcbuf *name_buffer, nghttp3_rcbuf *value_buffer,
    uint8_t flags, void *user, void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    if (!stream) return 0;
    struct section *section = &stream->section;
    nghttp3_vec name = nghttp3_rcbuf_get_buf(name_buffer);
    nghttp3_vec value = nghttp3_rcbuf_get_buf(value_buffer);
    stream->reported_lines++;
    if (name.len > 0 && name.base[0] == ':') {
        // nghttp3 has checked that this is :status, three digits, and once.
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

// nghttp3 drops a `content-length` where it has no meaning: of interim responses, of 204, of the response that opens a
// tunnel, and of trailers.
static bool is_missing_fields(cl3_stream *stream, bool may_lack_length) {
    stream->reported_sections++;
    if (may_lack_length) stream->excused_lines++;
    bool is_missing =
        cl3_is_missing_fields(&stream->counter, stream->reported_sections, stream->reported_lines, stream->excused_lines);
    if (stream->reported_sections == stream->counter.sections) {
        stream->reported_lines = stream->counter.lines;
        stream->excused_lines = 0;
    }
    return is_missing;
}

static const char malformed_field[] = "A field holds what no field may.";

int cl3_on_end_headers(nghttp3_conn *http, int64_t id, int is_last, void *user, void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    if (!stream) return 0;
    cl3_tell_gathered(self);
    struct section *section = &stream->section;
    bool opens_tunnel = stream->is_connect && section->status < 300;
    if (is_missing_fields(stream, section->status < 200 || section->status == 204 || opens_tunnel)) {
        section->is_malformed = true;
    }
    if (section->status >= 200) {
        stream->body_length = section->body_length;
        self->work.responses++;
    }
    if (is_too_long(self, section)) {
        cl3_fail_stream(self, stream, NGHTTP3_H3_REQUEST_CANCELLED, "The fields are too many or too long.");
    } else if (section->is_malformed) {
        cl3_fail_stream(self, stream, NGHTTP3_H3_MESSAGE_ERROR, malformed_field);
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
    cl3_end_section(section);
    return 0;
}

// Trailers are read and dropped, up to a limit.
int cl3_on_trailer(
    nghttp3_conn *http, int64_t id, int32_t token, nghttp3_rcbuf *name, nghttp3_rcbuf *value, uint8_t flags,
    void *user, void *stream_user) {
    cl3_stream *stream = stream_user;
    if (!stream) return 0;
    stream->reported_lines++;
    nghttp3_vec content = nghttp3_rcbuf_get_buf(value);
    if (has_line_end(content)) stream->section.is_malformed = true;
    int result = count_field(user, stream, nghttp3_rcbuf_get_buf(name).len + content.len);
    return result < 0 ? result : 0;
}

int cl3_on_end_trailers(nghttp3_conn *http, int64_t id, int is_last, void *user, void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    if (!stream) return 0;
    bool is_missing = is_missing_fields(stream, true);
    if (is_too_long(self, &stream->section)) {
        cl3_fail_stream(self, stream, NGHTTP3_H3_REQUEST_CANCELLED, "The fields are too many or too long.");
    } else if (is_missing || stream->section.is_malformed) {
        cl3_fail_stream(self, stream, NGHTTP3_H3_MESSAGE_ERROR, malformed_field);
    }
    cl3_end_section(&stream->section);
    return 0;
}

#endif
