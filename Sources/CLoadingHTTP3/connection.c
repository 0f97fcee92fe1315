// A connection of QUIC, by ngtcp2, as the transport of HTTP/3.
#ifdef LOADING_HTTP3

#include "quic.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

static bool fill_randomly(uint8_t *bytes, size_t count) {
    while (count > 0) {
        size_t piece = count < 256 ? count : 256;
        if (getrandom(bytes, piece, 0) != (ssize_t)piece) return false;
        bytes += piece;
        count -= piece;
    }
    return true;
}

// ---- the transport of HTTP/3

static int open_stream(cl3_session *self, bool is_bidirectional, int64_t *id, cl3_stream *stream) {
    return is_bidirectional ? ngtcp2_conn_open_bidi_stream(quic_of(self)->conn, id, stream)
                            : ngtcp2_conn_open_uni_stream(quic_of(self)->conn, id, stream);
}

static uint64_t streams_left(cl3_session *self) { return ngtcp2_conn_get_streams_bidi_left(quic_of(self)->conn); }

static void extend_stream(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t count) {
    ngtcp2_conn_extend_max_stream_offset(quic_of(self)->conn, id, count);
}

static void extend(cl3_session *self, uint64_t count) {
    ngtcp2_conn_extend_max_offset(quic_of(self)->conn, count);
}

static void stop_reading(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t code) {
    stop_stream_reading(quic_of(self)->conn, id, code);
}

static void stop_writing(cl3_session *self, int64_t id, cl3_stream *stream, uint64_t code) {
    stop_stream_writing(quic_of(self)->conn, id, code);
}

static void free_quic(cl3_session *self) {
    struct quic *quic = self->link;
    ngtcp2_conn_del(quic->conn);
    cl3_end_tls(quic);
    free(quic->room);
    free(quic);
}

const struct transport cl3_quic = {
    .open = open_stream,
    .streams_left = streams_left,
    .extend_stream = extend_stream,
    .extend = extend,
    .stop_reading = stop_reading,
    .stop_writing = stop_writing,
    .free = free_quic,
};

// ---- what ngtcp2 calls

static int passed_on(int result) { return result == 0 ? 0 : NGTCP2_ERR_CALLBACK_FAILURE; }

// The connection that reads a datagram, and whether a packet of it was new: ngtcp2's callback does not name the connection.
static _Thread_local struct quic *receiver;
static _Thread_local bool is_new;

// An attacker on the path may replay packets. Very old packets count as new: it takes thousands of them to end a connection.
static void note_packet(struct quic *quic, const uint8_t *nonce, size_t count) {
    uint64_t last;
    if (count < sizeof last) return;
    memcpy(&last, nonce + count - sizeof last, sizeof last);
    uint64_t *place = &quic->nonces[((unsigned)nonce[count - 2] << 8 | nonce[count - 1]) % nonce_capacity];
    if (*place != last) is_new = true;
    *place = last;
}

static int on_decrypt(
    uint8_t *plain, const ngtcp2_crypto_aead *aead, const ngtcp2_crypto_aead_ctx *context, const uint8_t *cipher,
    size_t cipher_count, const uint8_t *nonce, size_t nonce_count, const uint8_t *head, size_t head_count) {
    int result = ngtcp2_crypto_decrypt_cb(
        plain, aead, context, cipher, cipher_count, nonce, nonce_count, head, head_count);
    if (result == 0 && receiver) note_packet(receiver, nonce, nonce_count);
    return result;
}

static int on_stream_data(
    ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t offset, const uint8_t *bytes, size_t count, void *user,
    void *stream_user) {
    cl3_session *self = user;
    int result = cl3_read(self, id, stream_user, bytes, count, (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0);
    return passed_on(result);
}

static int on_acknowledged(
    ngtcp2_conn *conn, int64_t id, uint64_t offset, uint64_t count, void *user, void *stream_user) {
    return passed_on(cl3_acknowledged(user, id, count));
}

static int on_stream_close(
    ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t code, void *user, void *stream_user) {
    cl3_session *self = user;
    if (!(flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET)) code = NGHTTP3_H3_NO_ERROR;
    if (ngtcp2_is_bidi_stream(id) == 0 && !ngtcp2_conn_is_local_stream(conn, id)) {
        ngtcp2_conn_extend_max_streams_uni(conn, 1);
        self->work.streams++;
    }
    return passed_on(cl3_stream_closed(self, id, stream_user, code));
}

static int on_stream_reset(
    ngtcp2_conn *conn, int64_t id, uint64_t final_size, uint64_t code, void *user, void *stream_user) {
    return passed_on(cl3_peer_reset(user, id, stream_user, code));
}

static int on_stop_sending(ngtcp2_conn *conn, int64_t id, uint64_t code, void *user, void *stream_user) {
    return passed_on(cl3_peer_stopped(user, id, stream_user, code));
}

static int on_more_stream_data(
    ngtcp2_conn *conn, int64_t id, uint64_t limit, void *user, void *stream_user) {
    cl3_session *self = user;
    // A stream that rests is unblocked when its next turn begins.
    cl3_stream *stream = stream_user;
    if (self->http && !(stream && stream->is_resting)) nghttp3_conn_unblock_stream(self->http, id);
    return 0;
}

static int on_more_streams(ngtcp2_conn *conn, uint64_t limit, void *user) {
    cl3_session *self = user;
    if (ngtcp2_conn_get_handshake_completed(conn)) self->callbacks.more_streams(self->owner);
    return 0;
}

static int on_stateless_reset(ngtcp2_conn *conn, const ngtcp2_pkt_stateless_reset *reset, void *user) {
    quic_of(user)->was_reset = true;
    return 0;
}

static void on_random(uint8_t *bytes, size_t count, const ngtcp2_rand_ctx *context) { fill_randomly(bytes, count); }

static int on_new_connection_id(ngtcp2_conn *conn, ngtcp2_cid *id, uint8_t *token, size_t count, void *user) {
    if (!fill_randomly(id->data, count) || !fill_randomly(token, NGTCP2_STATELESS_RESET_TOKENLEN)) {
        return NGTCP2_ERR_CALLBACK_FAILURE;
    }
    id->datalen = count;
    return 0;
}

static void on_qlog(void *user, uint32_t flags, const void *bytes, size_t count) {
    cl3_session *self = user;
    self->callbacks.qlog(self->owner, bytes, count, (flags & NGTCP2_QLOG_WRITE_FLAG_FIN) != 0);
}

static int on_handshake_confirmed(ngtcp2_conn *conn, void *user) {
    (void)conn;
    quic_of(user)->is_handshake_confirmed = true;
    return 0;
}

// ---- the session

static bool set_path(struct quic *quic, const cl3_endpoints *endpoints) {
    if (endpoints->local_length > sizeof quic->local || endpoints->remote_length > sizeof quic->remote) return false;
    memcpy(&quic->local, endpoints->local, endpoints->local_length);
    memcpy(&quic->remote, endpoints->remote, endpoints->remote_length);
    quic->path.local.addr = (ngtcp2_sockaddr *)&quic->local;
    quic->path.local.addrlen = (ngtcp2_socklen)endpoints->local_length;
    quic->path.remote.addr = (ngtcp2_sockaddr *)&quic->remote;
    quic->path.remote.addrlen = (ngtcp2_socklen)endpoints->remote_length;
    return true;
}

static bool start_connection(struct quic *quic, const cl3_limits *limits, const cl3_callbacks *owner_callbacks) {
    const ngtcp2_callbacks callbacks = {
        .client_initial = ngtcp2_crypto_client_initial_cb,
        .recv_crypto_data = cl3_on_crypto_data,
        .handshake_completed = cl3_on_handshake_complete,
        .handshake_confirmed = on_handshake_confirmed,
        .encrypt = ngtcp2_crypto_encrypt_cb,
        .decrypt = on_decrypt,
        .hp_mask = ngtcp2_crypto_hp_mask_cb,
        .recv_stream_data = on_stream_data,
        .acked_stream_data_offset = on_acknowledged,
        .stream_close = on_stream_close,
        .recv_stateless_reset = on_stateless_reset,
        .recv_retry = ngtcp2_crypto_recv_retry_cb,
        .extend_max_local_streams_bidi = on_more_streams,
        .rand = on_random,
        .get_new_connection_id = on_new_connection_id,
        .update_key = ngtcp2_crypto_update_key_cb,
        .stream_reset = on_stream_reset,
        .extend_max_stream_data = on_more_stream_data,
        .delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
        .delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
        .get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb,
        .stream_stop_sending = on_stop_sending,
        .version_negotiation = ngtcp2_crypto_version_negotiation_cb,
    };
    ngtcp2_settings settings;
    ngtcp2_settings_default(&settings);
    settings.initial_ts = quic->now;
    settings.handshake_timeout = limits->handshake_timeout;
#if CL3_NGTCP2_IS_STABLE
    if (owner_callbacks->qlog) settings.qlog_write = on_qlog;
#else
    if (owner_callbacks->qlog) settings.qlog.write = on_qlog;
#endif
    ngtcp2_transport_params parameters;
    ngtcp2_transport_params_default(&parameters);
    parameters.initial_max_stream_data_bidi_local = limits->stream_window;
    parameters.initial_max_stream_data_uni = limits->stream_window;
    parameters.initial_max_data = limits->connection_window;
    parameters.initial_max_streams_uni = limits->unidirectional_streams;
    parameters.max_idle_timeout = limits->idle_timeout;
    parameters.active_connection_id_limit = limits->connection_ids;
    ngtcp2_cid source = {.datalen = 16}, destination = {.datalen = 18};
    if (!fill_randomly(source.data, source.datalen) || !fill_randomly(destination.data, destination.datalen)) {
        return false;
    }
    if (ngtcp2_conn_client_new(
            &quic->conn, &destination, &source, &quic->path, NGTCP2_PROTO_VER_V1, &callbacks, &settings, &parameters,
            NULL, quic->session)
        != 0) {
        quic->conn = NULL;
        return false;
    }
    ngtcp2_conn_set_tls_native_handle(quic->conn, quic->tls);
    return true;
}

static bool take_up_parameters(struct quic *quic, cl3_bytes parameters) {
#if CL3_NGTCP2_IS_STABLE
    return ngtcp2_conn_decode_and_set_0rtt_transport_params(quic->conn, parameters.start, parameters.count) == 0;
#else
    ngtcp2_transport_params decoded;
    if (ngtcp2_decode_transport_params(
            &decoded, NGTCP2_TRANSPORT_PARAMS_TYPE_ENCRYPTED_EXTENSIONS, parameters.start, parameters.count)
        != 0) {
        return false;
    }
    ngtcp2_conn_set_early_remote_transport_params(quic->conn, &decoded);
    return true;
#endif
}

cl3_session *cl3_new(
    const cl3_callbacks *callbacks, void *owner, const cl3_limits *limits, const cl3_opening *opening,
    cl3_result *result) {
    *result = CL3_UNAVAILABLE;
    if (!cl3_load()) return NULL;
    *result = CL3_OUT_OF_MEMORY;
    cl3_session *self = calloc(1, sizeof *self);
    struct quic *quic = calloc(1, sizeof *quic);
    if (!self || !quic) {
        free(self);
        free(quic);
        return NULL;
    }
    self->callbacks = *callbacks;
    self->owner = owner;
    self->limits = *limits;
    self->transport = &cl3_quic;
    self->link = quic;
    quic->session = self;
    quic->now = opening->now;
    quic->early_data_accepted = -1;
    if (!cl3_take_identity(quic, opening)) {
        *result = CL3_IDENTITY;
        cl3_free(self);
        return NULL;
    }
    if (!set_path(quic, &opening->endpoints) || !cl3_start_tls(quic, opening)
        || !start_connection(quic, limits, callbacks)) {
        cl3_free(self);
        return NULL;
    }
    if (quic->is_ticket_used && opening->allows_early_data && opening->parameters.count > 0
        && take_up_parameters(quic, opening->parameters)) {
        // Without room for the streams of HTTP/3 there is no early data, and they are opened after the handshake.
        quic->offers_early_data = ngtcp2_conn_get_streams_uni_left(quic->conn) >= 3 && cl3_start_http(self) == 0;
    }
    return self;
}

uint64_t cl3_peer_idle_timeout(cl3_session *self) { return quic_of(self)->peer_idle_timeout; }

bool cl3_is_handshake_complete(cl3_session *self) {
    return ngtcp2_conn_get_handshake_completed(quic_of(self)->conn) != 0;
}

bool cl3_is_handshake_confirmed(cl3_session *self) {
    return self->transport == &cl3_quic && quic_of(self)->is_handshake_confirmed;
}

bool cl3_offers_early_data(cl3_session *self) {
    return quic_of(self)->offers_early_data && quic_of(self)->early_data_accepted < 0;
}

// ---- datagrams and time

int cl3_receive(cl3_session *self, const uint8_t *datagram, size_t count, uint8_t ecn, uint64_t now) {
    if (self->is_over) return self->problem.result;
    if (count == 0) {
        // It has no packet.
        self->work.foreign++;
        return 0;
    }
    struct quic *quic = quic_of(self);
    ngtcp2_pkt_info info = {.ecn = ecn & NGTCP2_ECN_MASK};
    self->is_in_library = true;
    receiver = quic;
    is_new = false;
    int result = ngtcp2_conn_read_pkt(quic->conn, &quic->path, &info, datagram, count, advance(quic, now));
    receiver = NULL;
    if (!is_new) self->work.foreign++;
    return cl3_finish(self, result);
}

int cl3_received_all(cl3_session *self) {
    if (self->is_over) return self->problem.result;
    self->is_in_library = true;
    cl3_tell_gathered(self);
    return cl3_finish(self, 0);
}

int cl3_handle_expiry(cl3_session *self, uint64_t now) {
    if (self->is_over) return self->problem.result;
    struct quic *quic = quic_of(self);
    self->is_in_library = true;
    return cl3_finish(self, ngtcp2_conn_handle_expiry(quic->conn, advance(quic, now)));
}

uint64_t cl3_expiry(cl3_session *self) {
    return self->is_over ? UINT64_MAX : ngtcp2_conn_get_expiry(quic_of(self)->conn);
}

uint64_t cl3_in_flight(cl3_session *self) {
    connection_facts facts;
    get_connection_facts(quic_of(self)->conn, &facts);
    return facts.bytes_in_flight;
}

bool cl3_migrate(cl3_session *self, const cl3_endpoints *endpoints, uint64_t now) {
    if (self->is_over) return false;
    struct quic *quic = quic_of(self);
    struct sockaddr_storage local = quic->local, remote = quic->remote;
    ngtcp2_path before = quic->path;
    if (!set_path(quic, endpoints)) return false;
    if (ngtcp2_conn_initiate_immediate_migration(quic->conn, &quic->path, advance(quic, now)) == 0) return true;
    quic->local = local;
    quic->remote = remote;
    quic->path = before;
    return false;
}

bool cl3_update_keys(cl3_session *self, uint64_t now) {
    struct quic *quic = quic_of(self);
    if (self->is_over || !ngtcp2_conn_get_handshake_completed(quic->conn)) return false;
    return ngtcp2_conn_initiate_key_update(quic->conn, advance(quic, now)) == 0;
}

#endif
