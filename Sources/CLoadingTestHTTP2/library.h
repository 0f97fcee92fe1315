// The functions of nghttp2 that are used, by the prototypes of its header. No library is linked.

#ifndef C_LOADING_TEST_HTTP2_LIBRARY_H
#define C_LOADING_TEST_HTTP2_LIBRARY_H

#if defined(__has_include) && !__has_include(<nghttp2/nghttp2.h>)
#error "nghttp2's header is missing: install libnghttp2-dev (Debian, Ubuntu) or libnghttp2-devel (Fedora)"
#endif

#include <nghttp2/nghttp2.h>
#include <stdbool.h>

// Without the prefix.
#define CLTH_FUNCTIONS(use) \
    use(session_callbacks_del) use(session_callbacks_new) use(session_callbacks_set_on_data_chunk_recv_callback) \
    use(session_callbacks_set_on_frame_recv_callback) use(session_callbacks_set_on_header_callback) \
    use(session_callbacks_set_on_stream_close_callback) use(session_del) use(session_get_last_proc_stream_id) \
    use(session_mem_recv) use(session_mem_send) use(session_resume_data) use(session_server_new) \
    use(session_set_local_window_size) use(session_want_read) use(session_want_write) use(submit_goaway) \
    use(submit_headers) use(submit_response) use(submit_rst_stream) use(submit_settings)

#define CLTH_DECLARE(name) __typeof__(nghttp2_##name) *name;
struct clth_nghttp2 { CLTH_FUNCTIONS(CLTH_DECLARE) };
#undef CLTH_DECLARE

// NULL if the library is missing.
const struct clth_nghttp2 *clth_nghttp2(void);

#endif
