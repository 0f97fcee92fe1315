// nghttp2, loaded at run time: its library is not linked, so a program that never uses HTTP/2 starts without it.
#ifndef C_LOADING_HTTP2_LIBRARY_H
#define C_LOADING_HTTP2_LIBRARY_H

#if defined(__has_include) && !__has_include(<nghttp2/nghttp2.h>)
#error "nghttp2's header is missing: install libnghttp2-dev (Debian, Ubuntu) or libnghttp2-devel (Fedora)"
#endif

#include <nghttp2/nghttp2.h>
#include <stdbool.h>

// What older headers lack.
extern void nghttp2_option_set_max_continuations(nghttp2_option *option, size_t value);
extern int nghttp2_submit_priority_update(
    nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *value, size_t length);

// nghttp2's functions by their names without the prefix. A function that is called has to be listed here.
#define CLH_FUNCTIONS(FUNCTION) \
    FUNCTION(check_header_name) \
    FUNCTION(option_del) \
    FUNCTION(option_new) \
    FUNCTION(option_set_max_outbound_ack) \
    FUNCTION(option_set_max_reserved_remote_streams) \
    FUNCTION(option_set_max_send_header_block_length) \
    FUNCTION(option_set_no_auto_window_update) \
    FUNCTION(session_callbacks_del) \
    FUNCTION(session_callbacks_new) \
    FUNCTION(session_callbacks_set_on_begin_headers_callback) \
    FUNCTION(session_callbacks_set_on_data_chunk_recv_callback) \
    FUNCTION(session_callbacks_set_on_frame_recv_callback) \
    FUNCTION(session_callbacks_set_on_frame_send_callback) \
    FUNCTION(session_callbacks_set_on_header_callback) \
    FUNCTION(session_callbacks_set_on_invalid_frame_recv_callback) \
    FUNCTION(session_callbacks_set_on_invalid_header_callback) \
    FUNCTION(session_callbacks_set_on_stream_close_callback) \
    FUNCTION(session_callbacks_set_send_data_callback) \
    FUNCTION(session_check_request_allowed) \
    FUNCTION(session_client_new2) \
    FUNCTION(session_consume_connection) \
    FUNCTION(session_consume_stream) \
    FUNCTION(session_del) \
    FUNCTION(session_get_outbound_queue_size) \
    FUNCTION(session_get_remote_settings) \
    FUNCTION(session_get_stream_user_data) \
    FUNCTION(session_mem_recv) \
    FUNCTION(session_mem_send) \
    FUNCTION(session_resume_data) \
    FUNCTION(session_set_local_window_size) \
    FUNCTION(session_terminate_session) \
    FUNCTION(session_want_read) \
    FUNCTION(session_want_write) \
    FUNCTION(strerror) \
    FUNCTION(submit_goaway) \
    FUNCTION(submit_ping) \
    FUNCTION(submit_request) \
    FUNCTION(submit_rst_stream) \
    FUNCTION(submit_settings)

// NULL where the library is older.
#define CLH_LATER_FUNCTIONS(FUNCTION) \
    FUNCTION(option_set_max_continuations) \
    FUNCTION(submit_priority_update)

struct clh_functions {
#define CLH_FIELD(name) __typeof__(nghttp2_##name) *name;
    CLH_FUNCTIONS(CLH_FIELD)
    CLH_LATER_FUNCTIONS(CLH_FIELD)
#undef CLH_FIELD
};

// The functions, once `clh_load` has returned true. A session exists only then.
extern struct clh_functions clh_library;

// Loads the library. False without it; the next call tries again.
bool clh_load(void);

#endif
