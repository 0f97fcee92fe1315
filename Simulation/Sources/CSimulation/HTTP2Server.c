// The server's side of HTTP/2 for simulated hosts, over nghttp2.
#include "Kernel.h"
#include <nghttp2/nghttp2.h>

struct simulation_http2 { nghttp2_session *session; simulation_http2_callbacks callbacks; };

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
    const uint8_t *value, size_t value_length, uint8_t flags, void *user) {
    simulation_http2 *http2 = user;
    http2->callbacks.field(
        http2->callbacks.context, frame->hd.stream_id, name, (int64_t)name_length, value, (int64_t)value_length);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *user) {
    simulation_http2 *http2 = user;
    http2->callbacks.data(http2->callbacks.context, stream, bytes, (int64_t)count);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    simulation_http2 *http2 = user;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) http2->callbacks.request(http2->callbacks.context, frame->hd.stream_id);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user) {
    simulation_http2 *http2 = user;
    http2->callbacks.closed(http2->callbacks.context, stream, code);
    return 0;
}

static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t capacity, uint32_t *flags,
    nghttp2_data_source *source, void *user) {
    simulation_http2 *http2 = user;
    bool is_last = false;
    int64_t count = http2->callbacks.body(http2->callbacks.context, stream, buffer, (int64_t)capacity, &is_last);
    if (is_last) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return count == 0 && !is_last ? NGHTTP2_ERR_DEFERRED : (ssize_t)count;
}

simulation_http2 *simulation_http2_new(simulation_http2_callbacks callbacks, uint32_t stream_window, uint32_t most_streams) {
    simulation_http2 *http2 = calloc(1, sizeof *http2);
    http2->callbacks = callbacks;
    nghttp2_session_callbacks *table;
    nghttp2_session_callbacks_new(&table);
    nghttp2_session_callbacks_set_on_header_callback(table, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(table, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(table, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(table, on_close);
    nghttp2_session_server_new(&http2->session, table, http2);
    nghttp2_session_callbacks_del(table);
    nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, most_streams },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window },
    };
    nghttp2_submit_settings(http2->session, NGHTTP2_FLAG_NONE, settings, 2);
    return http2;
}

void simulation_http2_free(simulation_http2 *http2) {
    nghttp2_session_del(http2->session);
    free(http2);
}

bool simulation_http2_receive(simulation_http2 *http2, const uint8_t *bytes, int64_t count) {
    return nghttp2_session_mem_recv(http2->session, bytes, (size_t)count) >= 0;
}

int64_t simulation_http2_take(simulation_http2 *http2, const uint8_t **bytes) {
    ssize_t count = nghttp2_session_mem_send(http2->session, bytes);
    return count > 0 ? count : 0;
}

void simulation_http2_respond(simulation_http2 *http2, int32_t stream, const char *const *fields, int64_t count, bool has_body) {
    nghttp2_nv list[32];
    if (count > 32) kernel_fail(simulation_stuck, "a response has more than 32 fields");
    for (int64_t i = 0; i < count; i++) {
        list[i] = (nghttp2_nv){
            .name = (uint8_t *)fields[2 * i], .namelen = strlen(fields[2 * i]),
            .value = (uint8_t *)fields[2 * i + 1], .valuelen = strlen(fields[2 * i + 1]),
        };
    }
    nghttp2_data_provider provider = { .read_callback = read_body };
    nghttp2_submit_response(http2->session, stream, list, (size_t)count, has_body ? &provider : NULL);
}

void simulation_http2_resume(simulation_http2 *http2, int32_t stream) { nghttp2_session_resume_data(http2->session, stream); }

void simulation_http2_reset(simulation_http2 *http2, int32_t stream, uint32_t code) {
    nghttp2_submit_rst_stream(http2->session, NGHTTP2_FLAG_NONE, stream, code);
}

void simulation_http2_go_away(simulation_http2 *http2, int32_t last, uint32_t code) {
    nghttp2_submit_goaway(http2->session, NGHTTP2_FLAG_NONE, last, code, NULL, 0);
}

int32_t simulation_http2_last_stream(simulation_http2 *http2) {
    return nghttp2_session_get_last_proc_stream_id(http2->session);
}

void simulation_http2_ping(simulation_http2 *http2) { nghttp2_submit_ping(http2->session, NGHTTP2_FLAG_NONE, NULL); }

void simulation_http2_announce_end(simulation_http2 *http2) { nghttp2_submit_shutdown_notice(http2->session); }
