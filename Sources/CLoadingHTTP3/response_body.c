// The content of responses: small pieces are gathered, and the windows are extended by what nghttp3 has read.
#ifdef LOADING_HTTP3

#include "session.h"

#include <stdlib.h>
#include <string.h>

// Content that is reported at once.
static const size_t gathered_capacity = 32768;

// How much of what nghttp3 releases of a stream was not returned to the connection's window.
size_t cl3_release_held(cl3_stream *stream, size_t count) {
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

// False if it cannot be kept, and must be reported directly.
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

int cl3_on_data(
    nghttp3_conn *http, int64_t id, const uint8_t *bytes, size_t count, void *user, void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    if (!stream) return 0;
    size_t unreturned = count;
    stream->content += (int64_t)count;
    if (stream == self->reading) self->read_body += count;
    else unreturned = cl3_release_held(stream, count);
    if (self->gathering != stream || count > gathered_capacity - self->gathered_count) cl3_tell_gathered(self);
    if (stream->slot == SIZE_MAX || stream->is_reset) {
        self->credit += unreturned;
    } else if (unreturned < count || !gather(self, stream, bytes, count)) {
        cl3_tell_gathered(self);
        self->callbacks.data(self->owner, stream->slot, bytes, count, 1);
    }
    return 0;
}

int cl3_on_deferred_consume(nghttp3_conn *http, int64_t id, size_t count, void *user, void *stream_user) {
    if (stream_user) cl3_give_credit(user, stream_user, cl3_release_held(stream_user, count));
    return 0;
}

int cl3_on_end_stream(nghttp3_conn *http, int64_t id, void *user, void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    if (!stream || stream->is_ended) return 0;
    stream->is_ended = true;
    cl3_tell_gathered(self);
    if (stream->slot != SIZE_MAX && !stream->is_reset) self->callbacks.ended(self->owner, stream->slot);
    return 0;
}

#endif
