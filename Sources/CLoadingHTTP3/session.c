// HTTP/3 in a session: its beginning, its end, and work that is deferred until the libraries have returned.
#ifdef LOADING_HTTP3

#include "session.h"

#include <stdlib.h>
#include <string.h>

void cl3_set_problem(cl3_session *self, cl3_result result, uint64_t code, bool is_application, const char *text) {
    if (self->problem.result) return;
    self->problem.result = result;
    self->problem.code = code;
    self->problem.is_application = is_application;
    self->problem.text = (const uint8_t *)text;
    self->problem.text_length = text ? strlen(text) : 0;
}

int cl3_http_failed(cl3_session *self, int error) {
    switch (error) {
    case NGHTTP3_ERR_NOMEM:
        cl3_set_problem(self, CL3_OUT_OF_MEMORY, NGHTTP3_H3_INTERNAL_ERROR, true, NULL);
        break;
    // A name or a value exceeds nghttp3's limit. It has no code for that, and its versions choose different ones.
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

static int on_shutdown(nghttp3_conn *http, int64_t id, void *user) {
    cl3_session *self = user;
    self->callbacks.going_away(self->owner, id);
    return 0;
}

int cl3_start_http(cl3_session *self) {
    nghttp3_callbacks callbacks = {
        .acked_stream_data = cl3_on_acknowledged,
        .stream_close = cl3_on_stream_close,
        .recv_data = cl3_on_data,
        .deferred_consume = cl3_on_deferred_consume,
        .begin_headers = cl3_on_begin_headers,
        .recv_header = cl3_on_header,
        .end_headers = cl3_on_end_headers,
        .begin_trailers = cl3_on_begin_headers,
        .recv_trailer = cl3_on_trailer,
        .end_trailers = cl3_on_end_trailers,
        .stop_sending = cl3_on_stop_sending,
        .end_stream = cl3_on_end_stream,
        .reset_stream = cl3_on_reset_stream,
        .shutdown = on_shutdown,
    };
    nghttp3_settings settings;
    nghttp3_settings_default(&settings);
    settings.max_field_section_size = self->limits.section_bytes;
    settings.qpack_max_dtable_capacity = self->limits.table_capacity;
    settings.qpack_blocked_streams = self->limits.blocked_streams;
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
        return cl3_http_failed(self, result);
    }
    nghttp3_conn_set_max_concurrent_streams(self->http, self->limits.pending_cancellations);
    result = nghttp3_conn_bind_control_stream(self->http, control);
    if (result == 0) result = nghttp3_conn_bind_qpack_streams(self->http, encoder, decoder);
    if (result != 0) {
        nghttp3_conn_del(self->http);
        self->http = NULL;
        return cl3_http_failed(self, result);
    }
    return 0;
}

void cl3_end_http(cl3_session *self) {
    if (self->http) nghttp3_conn_del(self->http);
    self->http = NULL;
    while (self->streams) cl3_free_stream(self, self->streams);
}

void cl3_free(cl3_session *self) {
    // The transport first: it has pointers into the streams.
    self->transport->free(self);
    cl3_end_http(self);
    free(self->gathered);
    free(self);
}

void cl3_go_away(cl3_session *self) {
    if (self->is_over || self->is_leaving) return;
    self->is_leaving = true;
    if (self->http) nghttp3_conn_shutdown(self->http);
}

void cl3_extend_connection(cl3_session *self, uint64_t count) {
    self->credit += count;
    if (!self->is_in_library) cl3_settle(self);
}

cl3_work cl3_take_work(cl3_session *self) {
    cl3_work work = self->work;
    self->work = (cl3_work){0};
    return work;
}

#endif
