// A build without the package trait HTTP3: no session can be made, so the functions that take one are never called.
#ifndef LOADING_HTTP3

#include "CLoadingHTTP3.h"

bool cl3_is_available(void) { return false; }

bool cl3_load(void) { return false; }

const char *cl3_library_failure(void) { return "HTTP/3 is not part of this build"; }

cl3_session *cl3_new(
    const cl3_callbacks *callbacks, void *owner, const cl3_limits *limits, const cl3_opening *opening,
    cl3_result *result) {
    *result = CL3_UNAVAILABLE;
    return NULL;
}

cl3_session *cl3_new_loose(
    const cl3_callbacks *callbacks, void *owner, const cl3_limits *limits, uint64_t streams, cl3_result *result) {
    *result = CL3_UNAVAILABLE;
    return NULL;
}

void cl3_free(cl3_session *session) {}

int64_t cl3_submit(
    cl3_session *session, const cl3_field *fields, size_t count, size_t slot, bool has_body, cl3_stream **stream) {
    return CL3_UNAVAILABLE;
}

uint64_t cl3_streams_left(cl3_session *session) { return 0; }
bool cl3_peer_allows_connect_protocol(cl3_session *session) { return false; }
void cl3_resume(cl3_session *session, cl3_stream *stream) {}
void cl3_reset(cl3_session *session, cl3_stream *stream, uint64_t code) {}
void cl3_detach(cl3_session *session, cl3_stream *stream) {}
size_t cl3_received(cl3_stream *stream) { return 0; }
size_t cl3_unacknowledged(cl3_stream *stream) { return 0; }
void cl3_set_priority(cl3_session *session, cl3_stream *stream, uint32_t urgency, bool is_incremental) {}
void cl3_go_away(cl3_session *session) {}
void cl3_extend_stream(cl3_session *session, cl3_stream *stream, uint64_t count) {}
void cl3_extend_connection(cl3_session *session, uint64_t count) {}
cl3_work cl3_take_work(cl3_session *session) { return (cl3_work){0}; }

int cl3_receive(cl3_session *session, const uint8_t *datagram, size_t count, uint8_t ecn, uint64_t now) {
    return CL3_UNAVAILABLE;
}

int cl3_received_all(cl3_session *session) { return CL3_UNAVAILABLE; }
int cl3_handle_expiry(cl3_session *session, uint64_t now) { return CL3_UNAVAILABLE; }
int cl3_write(cl3_session *session, uint64_t now, cl3_output *output) { return CL3_UNAVAILABLE; }
void cl3_release_room(cl3_session *session) {}
uint64_t cl3_expiry(cl3_session *session) { return UINT64_MAX; }
void cl3_set_keep_alive(cl3_session *session, uint64_t interval) {}
void cl3_ping(cl3_session *session) {}
uint64_t cl3_in_flight(cl3_session *session) { return 0; }
bool cl3_migrate(cl3_session *session, const cl3_endpoints *endpoints, uint64_t now) { return false; }
bool cl3_update_keys(cl3_session *session, uint64_t now) { return false; }
uint64_t cl3_peer_idle_timeout(cl3_session *session) { return 0; }
bool cl3_is_handshake_complete(cl3_session *session) { return false; }
bool cl3_is_handshake_confirmed(cl3_session *session) { return false; }
bool cl3_is_resumed(cl3_session *session) { return false; }
bool cl3_is_certificate_wanted(cl3_session *session) { return false; }
cl3_bytes cl3_issuers(cl3_session *session) { return (cl3_bytes){0}; }
cl3_bytes cl3_stapled_response(cl3_session *session) { return (cl3_bytes){0}; }
bool cl3_offers_early_data(cl3_session *session) { return false; }
void cl3_close(cl3_session *session, cl3_code_kind kind, uint64_t code, uint64_t now) {}
cl3_bytes cl3_close_datagram(cl3_session *session) { return (cl3_bytes){0}; }
cl3_problem cl3_problem_of(cl3_session *session) { return (cl3_problem){.result = CL3_UNAVAILABLE}; }

int cl3_loose_feed(cl3_session *session, int64_t stream, const uint8_t *bytes, size_t count, bool is_last) {
    return CL3_UNAVAILABLE;
}

int cl3_loose_reset(cl3_session *session, int64_t stream, uint64_t code) { return CL3_UNAVAILABLE; }
int cl3_loose_stop(cl3_session *session, int64_t stream, uint64_t code) { return CL3_UNAVAILABLE; }

bool cl3_loose_take(
    cl3_session *session, int64_t *stream, uint8_t *room, size_t capacity, size_t *count, bool *is_last) {
    return false;
}

uint64_t cl3_loose_credit(cl3_session *session, int64_t stream) { return 0; }
uint64_t cl3_loose_reset_code(cl3_session *session, int64_t stream) { return 0; }

#endif
