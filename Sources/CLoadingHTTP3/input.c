// Input from the peer, passed on by the transport.
#ifdef LOADING_HTTP3

#include "session.h"

static int read_piece(
    cl3_session *self, int64_t id, cl3_stream *stream, const uint8_t *bytes, size_t count, bool is_last) {
    if (!self->http) {
        // Before the handshake there is nothing to be read.
        cl3_set_problem(self, CL3_VIOLATION, NGHTTP3_H3_GENERAL_PROTOCOL_ERROR, true, "There is data too early.");
        return -1;
    }
    // The transport credits bytes of streams that are not read any more.
    if (stream && stream->is_read_shut) return 0;
    if (stream && stream->is_broken) {
        // More of a malformed message, received before the transport stopped the stream.
        self->credit += count;
        self->work.bytes += count;
        return 0;
    }
    if (stream && is_last && count == 0 && stream->received == 0) {
        // nghttp3 accepts an empty stream as a response.
        cl3_fail_stream(self, stream, NGHTTP3_H3_MESSAGE_ERROR, "The stream ends before its response.");
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
            return cl3_http_failed(self, (int)consumed);
        }
        // The message is malformed and ends its stream. nghttp3 gets no more of it.
        self->credit += count - body;
        self->work.bytes += count - body;
        stream->is_broken = true;
        // Excess content is left in its frame.
        bool is_truncated = consumed == NGHTTP3_ERR_MALFORMED_HTTP_MESSAGING && is_last
            && stream->content < stream->body_length && nghttp3_conn_get_frame_payload_left(self->http, id) == 0;
        cl3_fail_stream(
            self, stream, NGHTTP3_H3_MESSAGE_ERROR, is_truncated ? NULL : nghttp3_strerror((int)consumed));
        return 0;
    }
    self->work.bytes += (size_t)consumed;
    cl3_give_credit(self, stream, (uint64_t)consumed);
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
    if (!stream) {
        int result = read_piece(self, id, stream, bytes, count, is_last);
        if (result == 0) cl3_note_settings(self, id, bytes, count);
        return result;
    }
    // Section by section, so that each is checked after nghttp3 has decoded it and before it is passed on.
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
    // The end of a critical stream ends the connection too, and some versions of ngtcp2 do not report the stream as closed.
    int error = !stream && (id & 3) == 3 ? nghttp3_conn_close_stream(self->http, id, code)
                                         : nghttp3_conn_shutdown_stream_read(self->http, id);
    if (error != 0 && error != NGHTTP3_ERR_STREAM_NOT_FOUND) return cl3_http_failed(self, error);
    if (!stream || stream->is_read_shut) return 0;
    cl3_tell_gathered(self);
    stream->is_read_shut = true;
    if (stream->slot != SIZE_MAX && !stream->is_reset && !stream->is_ended) {
        self->callbacks.was_reset(self->owner, stream->slot, code);
    }
    // Without a response the rest of the request is useless.
    if (!stream->is_ended) cl3_reset(self, stream, NGHTTP3_H3_REQUEST_CANCELLED);
    return 0;
}

int cl3_peer_stopped(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t code) {
    if (!self->http) return 0;
    if (!stream && (id & 3) == 2) {
        // No more could be written to it.
        return cl3_http_failed(self, NGHTTP3_ERR_H3_CLOSED_CRITICAL_STREAM);
    }
    nghttp3_conn_shutdown_stream_write(self->http, id);
    if (!stream) return 0;
    stream->is_write_shut = true;
    // A tunnel needs both directions. A server that declines it may stop reading without an error.
    if (stream->is_connect && code != NGHTTP3_H3_NO_ERROR && !stream->is_ended) {
        cl3_tell_gathered(self);
        if (stream->slot != SIZE_MAX && !stream->is_reset) self->callbacks.was_reset(self->owner, stream->slot, code);
        cl3_reset(self, stream, NGHTTP3_H3_REQUEST_CANCELLED);
    }
    return 0;
}

int cl3_acknowledged(cl3_session *self, int64_t id, uint64_t count) {
    if (!self->http) return 0;
    int error = nghttp3_conn_add_ack_offset(self->http, id, count);
    return error == 0 || error == NGHTTP3_ERR_STREAM_NOT_FOUND ? 0 : cl3_http_failed(self, error);
}

int cl3_stream_closed(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t code) {
    // nghttp3 keeps a stream until all of it was read.
    if (stream) stream->is_closing = true;
    int error = self->http ? nghttp3_conn_close_stream(self->http, id, code) : NGHTTP3_ERR_STREAM_NOT_FOUND;
    if (error != NGHTTP3_ERR_STREAM_NOT_FOUND) return error == 0 ? 0 : cl3_http_failed(self, error);
    return cl3_on_stream_close(self->http, id, code, self, stream);
}

#endif
