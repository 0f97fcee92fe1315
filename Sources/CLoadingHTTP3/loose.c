#ifdef LOADING_HTTP3

// Streams without QUIC: a test feeds the input and takes the output.

#include "session.h"

#include <stdlib.h>
#include <string.h>

struct loose {
    int64_t next_bidirectional, next_unidirectional;
    uint64_t streams;
    uint64_t open;
    uint64_t credit;
};

static int open(cl3_session *self, bool is_bidirectional, int64_t *id, cl3_stream *stream) {
    struct loose *link = self->link;
    if (is_bidirectional && link->open >= link->streams) return -1;
    int64_t *next = is_bidirectional ? &link->next_bidirectional : &link->next_unidirectional;
    *id = *next;
    *next += 4;
    if (is_bidirectional) link->open++;
    return 0;
}

static uint64_t streams_left(cl3_session *self) {
    struct loose *link = self->link;
    return link->streams - link->open;
}

static void extend_stream(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t count) {
    if (stream) stream->loose_credit += count;
}

static void extend(cl3_session *self, uint64_t count) { ((struct loose *)self->link)->credit += count; }

static void stop_reading(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t code) {
    if (!stream) return;
    stream->is_loose_read_over = true;
    stream->loose_code = code;
}

static void stop_writing(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t code) {
    if (!stream) return;
    stream->is_loose_write_over = true;
    stream->loose_code = code;
}

static void free_link(cl3_session *self) { free(self->link); }

static const struct transport loose = {
    .open = open,
    .streams_left = streams_left,
    .extend_stream = extend_stream,
    .extend = extend,
    .stop_reading = stop_reading,
    .stop_writing = stop_writing,
    .free = free_link,
};

cl3_session *cl3_new_loose(
    const cl3_callbacks *callbacks, void *owner, const cl3_limits *limits, uint64_t streams, cl3_result *result) {
    *result = CL3_UNAVAILABLE;
    if (!cl3_load()) return NULL;
    *result = CL3_OUT_OF_MEMORY;
    cl3_session *self = calloc(1, sizeof *self);
    struct loose *link = calloc(1, sizeof *link);
    if (!self || !link) {
        free(self);
        free(link);
        return NULL;
    }
    self->callbacks = *callbacks;
    self->owner = owner;
    self->limits = *limits;
    self->transport = &loose;
    self->link = link;
    link->next_unidirectional = 2;
    link->streams = streams;
    if (cl3_start_http(self) != 0) {
        cl3_free(self);
        return NULL;
    }
    return self;
}

static int finish(cl3_session *self, int result) {
    cl3_tell_gathered(self);
    self->is_in_library = false;
    if (result == 0 && self->problem.result == 0) cl3_settle(self);
    // Streams that both sides have ended are removed.
    for (cl3_stream *stream = self->streams, *next; stream; stream = next) {
        next = stream->next;
        bool is_over = stream->is_loose_read_over && stream->is_loose_write_over;
        if (!is_over || stream->is_closing || self->problem.result) continue;
        self->is_in_library = true;
        ((struct loose *)self->link)->open--;
        cl3_stream_closed(self, stream->id, stream, stream->loose_code);
        self->is_in_library = false;
        // The callback may have changed the list.
        next = self->streams;
    }
    if (self->problem.result == 0) {
        cl3_settle(self);
        return 0;
    }
    self->is_over = true;
    return self->problem.result;
}

int cl3_loose_feed(cl3_session *self, int64_t id, const uint8_t *bytes, size_t count, bool is_last) {
    if (self->is_over) return self->problem.result;
    cl3_stream *stream = NULL;
    if ((id & 3) == 0) {
        stream = cl3_find(self, id);
        if (!stream || stream->is_loose_read_over) return 0;
    } else if ((id & 3) != 3) {
        return 0;
    }
    if (count == 0 && !is_last) return 0;
    self->is_in_library = true;
    if (stream && is_last) stream->is_loose_read_over = true;
    return finish(self, cl3_read(self, id, stream, bytes, count, is_last));
}

int cl3_loose_reset(cl3_session *self, int64_t id, uint64_t code) {
    if (self->is_over) return self->problem.result;
    cl3_stream *stream = cl3_find(self, id);
    if ((id & 3) == 0 && (!stream || stream->is_loose_read_over)) return 0;
    if ((id & 3) != 3 && (id & 3) != 0) return 0;
    self->is_in_library = true;
    if (stream) stream->is_loose_read_over = true;
    int result = cl3_peer_reset(self, id, stream, code);
    if (result == 0 && !stream) result = cl3_stream_closed(self, id, NULL, code);
    return finish(self, result);
}

int cl3_loose_stop(cl3_session *self, int64_t id, uint64_t code) {
    if (self->is_over) return self->problem.result;
    cl3_stream *stream = cl3_find(self, id);
    // The first three of this side's own are the connection's.
    bool is_own = (id & 3) == 2 && id < 12;
    if (!is_own && (!stream || stream->is_loose_write_over)) return 0;
    self->is_in_library = true;
    if (stream) stream->is_loose_write_over = true;
    return finish(self, cl3_peer_stopped(self, id, stream, code));
}

bool cl3_loose_take(
    cl3_session *self, int64_t *id, uint8_t *room, size_t capacity, size_t *count, bool *is_last) {
    if (self->is_over) return false;
    nghttp3_vec list[8];
    int fin = 0;
    self->is_in_library = true;
    nghttp3_ssize pieces = cl3_next_output(self, id, &fin, list, 8);
    if (pieces < 0) {
        cl3_set_problem(self, CL3_VIOLATION, NGHTTP3_H3_INTERNAL_ERROR, true, nghttp3_strerror((int)pieces));
        finish(self, -1);
        return false;
    }
    if (pieces == 0 && !fin) {
        finish(self, 0);
        return false;
    }
    *count = 0;
    *is_last = fin != 0;
    for (nghttp3_ssize index = 0; index < pieces; index++) {
        size_t taken = list[index].len < capacity - *count ? list[index].len : capacity - *count;
        if (taken < list[index].len) *is_last = false;
        if (taken) memcpy(room + *count, list[index].base, taken);
        *count += taken;
    }
    cl3_stream *stream = cl3_find(self, *id);
    if (stream && *is_last) stream->is_loose_write_over = true;
    int result = cl3_wrote(self, *id, stream, list, *count, *is_last);
    if (result == 0) result = cl3_acknowledged(self, *id, *count);
    return finish(self, result) == 0;
}

uint64_t cl3_loose_credit(cl3_session *self, int64_t id) {
    if (id < 0) return ((struct loose *)self->link)->credit;
    cl3_stream *stream = cl3_find(self, id);
    return stream ? stream->loose_credit : 0;
}

uint64_t cl3_loose_reset_code(cl3_session *self, int64_t id) {
    cl3_stream *stream = cl3_find(self, id);
    return stream ? stream->loose_code : 0;
}

#endif
