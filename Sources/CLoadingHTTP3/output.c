// Outgoing datagrams, several at a time.
#ifdef LOADING_HTTP3

#include "quic.h"

#include <stdlib.h>

// The size of one message to the kernel, and the number of datagrams in it.
static const size_t batch_capacity = 65000;
static const size_t batch_count = 64;
static const size_t largest_datagram = 2048;

// One datagram. Its length, 0 if there is none now, or an error.
static ngtcp2_ssize write_datagram(
    cl3_session *self, ngtcp2_path_storage *path, ngtcp2_pkt_info *info, uint8_t *room, size_t capacity) {
    struct quic *quic = quic_of(self);
    int64_t refused = -1;
    for (;;) {
        nghttp3_vec list[16];
        nghttp3_ssize pieces = 0;
        int64_t id = -1;
        int is_last = 0;
        if (self->http && ngtcp2_conn_get_max_data_left(quic->conn) > 0) {
            pieces = cl3_next_output(self, &id, &is_last, list, sizeof list / sizeof *list);
            if (pieces < 0) {
                cl3_set_problem(
                    self, pieces == NGHTTP3_ERR_NOMEM ? CL3_OUT_OF_MEMORY : CL3_VIOLATION,
                    NGHTTP3_H3_INTERNAL_ERROR, true, nghttp3_strerror((int)pieces));
                return NGTCP2_ERR_CALLBACK_FAILURE;
            }
        }
        uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_MORE | (is_last ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0);
        ngtcp2_ssize taken = -1;
        ngtcp2_ssize count = ngtcp2_conn_writev_stream(
            quic->conn, &path->path, info, room, capacity, &taken, flags, id, (const ngtcp2_vec *)list,
            (size_t)pieces, quic->now);
        if (taken >= 0 && id >= 0 && (count >= 0 || count == NGTCP2_ERR_WRITE_MORE)) {
            bool is_end = is_last && (uint64_t)taken == nghttp3_vec_len(list, (size_t)pieces);
            cl3_stream *stream = (id & 3) == 0 ? cl3_find(self, id) : NULL;
            if (pieces == 0) {
                list[0].base = NULL;
                list[0].len = 0;
            }
            if (cl3_wrote(self, id, stream, list, (size_t)taken, is_end) != 0) return NGTCP2_ERR_CALLBACK_FAILURE;
        }
        switch (count) {
        case NGTCP2_ERR_WRITE_MORE:
            refused = -1;
            continue;
        case NGTCP2_ERR_STREAM_DATA_BLOCKED:
        case NGTCP2_ERR_STREAM_NOT_FOUND:
        case NGTCP2_ERR_STREAM_SHUT_WR:
            // nghttp3 does not name it again, so the loop ends.
            if (id == refused) return NGTCP2_ERR_INTERNAL;
            refused = id;
            // So that the turn's end does not unblock it.
            cl3_begin_turn(cl3_find(self, id));
            if (count == NGTCP2_ERR_STREAM_DATA_BLOCKED) nghttp3_conn_block_stream(self->http, id);
            else nghttp3_conn_shutdown_stream_write(self->http, id);
            continue;
        default:
            return count;
        }
    }
}

void cl3_apply_keep_alive(struct quic *quic) {
    uint64_t interval = quic->keep_alive;
    // One that is lost is followed by another before the server forgets the connection (RFC 9000 10.1.2).
    if (interval && quic->peer_idle_timeout && quic->peer_idle_timeout / 3 < interval) {
        interval = quic->peer_idle_timeout / 3;
    }
    // ngtcp2 sends its PING when nothing was sent for this time, so a nanosecond means now.
    ngtcp2_conn_set_keep_alive_timeout(quic->conn, quic->wants_ping ? 1 : interval);
}

int cl3_write(cl3_session *self, uint64_t now, cl3_output *output) {
    *output = (cl3_output){0};
    if (self->is_over) return self->problem.result;
    struct quic *quic = quic_of(self);
    advance(quic, now);
    if (quic->held_count) {
        *output = (cl3_output){
            quic->room + quic->held_start, quic->held_count, quic->held_count, quic->held_ecn};
        quic->held_count = 0;
        return 0;
    }
    if (!cl3_may_be_used(quic)) return cl3_failed(self, NGTCP2_ERR_CLOSING);
    if (!quic->room) quic->room = malloc(batch_capacity + largest_datagram);
    if (!quic->room) return cl3_failed(self, NGTCP2_ERR_NOMEM);
    const size_t datagram = ngtcp2_conn_get_max_tx_udp_payload_size(quic->conn);
    const size_t usual = ngtcp2_conn_get_path_max_tx_udp_payload_size(quic->conn);
    size_t most = ngtcp2_conn_get_send_quantum(quic->conn) / usual;
    if (most < 1) most = 1;
    if (most > batch_count) most = batch_count;
    size_t used = 0, segment = 0, datagrams = 0;
    uint32_t ecn = 0;
    ngtcp2_ssize count = 0;
    self->is_in_library = true;
    while (datagrams < most && used + datagram <= batch_capacity) {
        ngtcp2_path_storage path;
        ngtcp2_path_storage_zero(&path);
        ngtcp2_pkt_info info = {0};
        count = write_datagram(self, &path, &info, quic->room + used, datagram);
        if (count <= 0) break;
        datagrams++;
        if (!segment) {
            segment = (size_t)count;
            ecn = info.ecn;
        } else if ((size_t)count > segment || info.ecn != ecn) {
            quic->held_start = used;
            quic->held_count = (size_t)count;
            quic->held_ecn = (uint8_t)info.ecn;
            break;
        }
        used += (size_t)count;
        if ((size_t)count < segment) break;
    }
    self->is_in_library = false;
    // Before the round trip is measured, pacing would delay the first request by a guess.
    if (ngtcp2_conn_get_handshake_completed(quic->conn) && count >= 0) {
        ngtcp2_conn_update_pkt_tx_time(quic->conn, quic->now);
    }
    if (quic->wants_ping && used) {
        quic->wants_ping = false;
        cl3_apply_keep_alive(quic);
    }
    int result = cl3_finish(self, count < 0 ? (int)count : 0);
    // Datagrams made before an error are sent before the CONNECTION_CLOSE.
    *output = (cl3_output){quic->room, used, segment, (uint8_t)ecn};
    return result;
}

void cl3_release_room(cl3_session *self) {
    if (!self->gathering) {
        free(self->gathered);
        self->gathered = NULL;
    }
    if (self->transport != &cl3_quic || quic_of(self)->held_count) return;
    free(quic_of(self)->room);
    quic_of(self)->room = NULL;
}

void cl3_set_keep_alive(cl3_session *self, uint64_t interval) {
    if (self->is_over || self->transport != &cl3_quic) return;
    quic_of(self)->keep_alive = interval;
    cl3_apply_keep_alive(quic_of(self));
}

void cl3_ping(cl3_session *self) {
    if (self->is_over || self->transport != &cl3_quic) return;
    quic_of(self)->wants_ping = true;
    cl3_apply_keep_alive(quic_of(self));
}

#endif
