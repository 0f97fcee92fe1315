// Request streams, from their submission to their end.
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

void cl3_free_stream(cl3_session *self, cl3_stream *stream) {
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
    cl3_end_section(&stream->section);
    while (stream->first) {
        struct chunk *next = stream->first->next;
        free(stream->first);
        stream->first = next;
    }
    free(stream);
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
    // The method is the first field.
    stream->is_connect = count > 0 && fields->value_length == 7 && memcmp(fields->value, "CONNECT", 7) == 0;
    if (self->transport->open(self, true, &stream->id, stream) != 0) {
        free(stream);
        return CL3_NO_STREAM;
    }
    stream->next = self->streams;
    if (self->streams) self->streams->previous = stream;
    self->streams = stream;
    nghttp3_data_reader reader = {.read_data = cl3_read_body};
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
    // The answer to the pending callback is not known here.
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

// Without a text the response is truncated.
void cl3_fail_stream(cl3_session *self, cl3_stream *stream, uint64_t code, const char *text) {
    cl3_tell_gathered(self);
    if (stream->slot != SIZE_MAX && !stream->is_reset) {
        if (text) self->callbacks.invalid(self->owner, stream->slot, text);
        else self->callbacks.truncated(self->owner, stream->slot);
    }
    cl3_reset(self, stream, code);
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

void cl3_extend_stream(cl3_session *self, cl3_stream *stream, uint64_t count) {
    if (self->is_over || stream->is_reset || stream->is_read_shut) return;
    if (self->is_in_library) {
        stream->credit += count;
        self->has_stream_work = true;
    } else {
        self->transport->extend_stream(self, stream->id, stream, count);
    }
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
            self->credit += cl3_release_held(stream, stream->held);
            self->transport->stop_reading(self, stream->id, stream, stream->code);
            if (self->http) {
                int error = nghttp3_conn_shutdown_stream_read(self->http, stream->id);
                if (error != 0 && error != NGHTTP3_ERR_STREAM_NOT_FOUND) cl3_http_failed(self, error);
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

// nghttp3 calls this only for a malformed message. The stream's owner gets a report.
int cl3_on_stop_sending(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user) {
    cl3_session *self = user;
    if (stream_user) cl3_fail_stream(self, stream_user, code, "The message is malformed.");
    else self->transport->stop_reading(self, id, NULL, code);
    return 0;
}

int cl3_on_reset_stream(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user) {
    cl3_session *self = user;
    if (stream_user) cl3_reset(self, stream_user, code);
    else self->transport->stop_writing(self, id, NULL, code);
    return 0;
}

// After the end of the transport's stream, or when the stream's buffered input was read.
int cl3_on_stream_close(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user) {
    cl3_session *self = user;
    cl3_stream *stream = stream_user;
    cl3_tell_gathered(self);
    if (!stream) return 0;
    self->credit += stream->held;
    size_t slot = stream->slot;
    stream->slot = SIZE_MAX;
    if (slot != SIZE_MAX) self->callbacks.closed(self->owner, slot);
    cl3_free_stream(self, stream);
    return 0;
}

#endif
