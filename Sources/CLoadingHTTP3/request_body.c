// The bodies of requests: requested, sent in turns, kept until the peer has acknowledged them, and reported as sent.
#ifdef LOADING_HTTP3

#include "session.h"

#include <stdlib.h>
#include <string.h>

// The number of bytes that are requested at a time. A larger frame saves few bytes, and is sent only when it is complete.
static const size_t chunk_capacity = 65536;
// The number of bytes of one stream after which others are sent. Each body that is being sent delays a new request by a
// tenth of a second at 1 Mbit/s.
static const size_t turn_length = 16384;

int cl3_on_acknowledged(nghttp3_conn *http, int64_t id, uint64_t count, void *user, void *stream_user) {
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

nghttp3_ssize cl3_read_body(
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

// The length of the HEADERS frame at the start of a request, or 0.
static uint64_t first_frame_length(const uint8_t *bytes, size_t count) {
    if (count < 2 || bytes[0] != 1) return 0;
    size_t octets = (size_t)1 << (bytes[1] >> 6);
    if (count < 1 + octets) return 0;
    uint64_t length = bytes[1] & 0x3F;
    for (size_t index = 1; index < octets; index++) length = length << 8 | bytes[1 + index];
    return 1 + octets + length;
}

static void report_body(cl3_session *self, cl3_stream *stream, uint64_t written) {
    uint64_t sent = written > stream->head_length ? written - stream->head_length : 0;
    while (stream->unsent && stream->unsent->end <= sent) {
        struct chunk *chunk = stream->unsent;
        stream->unsent = chunk->next;
        if (stream->slot != SIZE_MAX && !stream->is_reset) {
            self->callbacks.sent_body(self->owner, stream->slot, chunk->count, chunk->frame_head + chunk->count);
        }
    }
}

nghttp3_ssize cl3_next_output(cl3_session *self, int64_t *id, int *is_last, nghttp3_vec *list, size_t capacity) {
    for (;;) {
        nghttp3_ssize pieces = nghttp3_conn_writev_stream(self->http, id, is_last, list, capacity);
        if (pieces != 0 || *is_last || !self->has_resting) return pieces;
        self->has_resting = false;
        for (cl3_stream *stream = self->streams; stream; stream = stream->next) {
            if (!stream->is_resting) continue;
            cl3_begin_turn(stream);
            nghttp3_conn_unblock_stream(self->http, stream->id);
        }
    }
}

void cl3_begin_turn(cl3_stream *stream) {
    if (!stream) return;
    stream->turn = 0;
    stream->is_resting = false;
}

static void end_turn_if_over(cl3_session *self, cl3_stream *stream, size_t count) {
    stream->turn += count;
    if (stream->turn < turn_length) return;
    stream->is_resting = self->has_resting = true;
    nghttp3_conn_block_stream(self->http, stream->id);
}

int cl3_wrote(
    cl3_session *self, int64_t id, cl3_stream *stream, const nghttp3_vec *list, size_t count, bool is_last) {
    if (stream && !stream->head_length && list[0].len > 0) {
        stream->head_length = first_frame_length(list[0].base, list[0].len);
        if (!stream->head_length) stream->head_length = list[0].len;
    }
    int error = nghttp3_conn_add_write_offset(self->http, id, count);
    if (error != 0 && error != NGHTTP3_ERR_STREAM_NOT_FOUND) return cl3_http_failed(self, error);
    if (!stream) return 0;
    stream->written += count;
    if (!is_last) end_turn_if_over(self, stream, count);
    bool is_reported = stream->slot != SIZE_MAX && !stream->is_reset;
    if (!stream->is_head_reported && (stream->written >= stream->head_length || is_last)) {
        stream->is_head_reported = true;
        if (is_reported) self->callbacks.sent_head(self->owner, stream->slot, (size_t)stream->head_length);
    }
    report_body(self, stream, is_last ? UINT64_MAX : stream->written);
    if (is_last && !stream->is_request_reported) {
        stream->is_request_reported = true;
        stream->is_write_shut = true;
        if (stream->slot != SIZE_MAX && !stream->is_reset) self->callbacks.sent_request(self->owner, stream->slot);
    }
    return 0;
}

#endif
