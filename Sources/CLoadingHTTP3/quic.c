#ifdef LOADING_HTTP3

#include "session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

// ---- two generations of ngtcp2

#if CL3_NGTCP2_IS_STABLE
typedef ngtcp2_ccerr close_error;
#define close_error_default ngtcp2_ccerr_default
#define close_error_set_transport ngtcp2_ccerr_set_transport_error
#define close_error_set_alert ngtcp2_ccerr_set_tls_alert
#define close_error_set_application ngtcp2_ccerr_set_application_error
#define CLOSE_ERROR_APPLICATION NGTCP2_CCERR_TYPE_APPLICATION
#define stop_stream_reading(conn, id, code) ngtcp2_conn_shutdown_stream_read((conn), 0, (id), (code))
#define stop_stream_writing(conn, id, code) ngtcp2_conn_shutdown_stream_write((conn), 0, (id), (code))
#define reject_early_data ngtcp2_conn_tls_early_data_rejected
typedef ngtcp2_encryption_level encryption_level;
typedef ngtcp2_conn_info connection_facts;
#define get_connection_facts ngtcp2_conn_get_conn_info
#define is_in_closing_period ngtcp2_conn_in_closing_period
#define is_in_draining_period ngtcp2_conn_in_draining_period
#else
typedef ngtcp2_connection_close_error close_error;
#define close_error_default ngtcp2_connection_close_error_default
#define close_error_set_transport ngtcp2_connection_close_error_set_transport_error
#define close_error_set_alert ngtcp2_connection_close_error_set_transport_error_tls_alert
#define close_error_set_application ngtcp2_connection_close_error_set_application_error
#define CLOSE_ERROR_APPLICATION NGTCP2_CONNECTION_CLOSE_ERROR_CODE_TYPE_APPLICATION
#define stop_stream_reading ngtcp2_conn_shutdown_stream_read
#define stop_stream_writing ngtcp2_conn_shutdown_stream_write
#define reject_early_data ngtcp2_conn_early_data_rejected
typedef ngtcp2_crypto_level encryption_level;
typedef ngtcp2_conn_stat connection_facts;
#define get_connection_facts ngtcp2_conn_get_conn_stat
#define is_in_closing_period ngtcp2_conn_is_in_closing_period
#define is_in_draining_period ngtcp2_conn_is_in_draining_period
#endif

static const char priorities[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:-GROUP-ALL:+GROUP-X25519:"
    "+GROUP-SECP256R1:+GROUP-SECP384R1:+GROUP-SECP521R1:%DISABLE_TLS13_COMPAT_MODE";
static const uint8_t no_application_protocol = 120;
static const uint8_t user_canceled = 90;
static const uint64_t crypto_buffer_exceeded = 0xd;

// What one message to the kernel takes, and how many datagrams it may be made into.
static const size_t batch_capacity = 65000;
static const size_t batch_count = 64;
static const size_t largest_datagram = 2048;
// Streams of the server's own: three that HTTP/3 has, and some that say nothing.
static const uint64_t unidirectional_streams = 16;
// What closing such a stream is counted as, and a ticket, in bytes.
static const uint64_t stream_overhead = 512;
static const uint64_t ticket_overhead = 4096;
static const unsigned ticket_count = 16;
// The longest message of the handshake's, in bytes: GnuTLS would gather any that is announced.
static const size_t message_capacity = 131072;
// What is kept of the names that a server asks for certificates by, in bytes.
static const size_t issuers_capacity = 65536;
enum { identity_capacity = 8, nonce_capacity = 1024 };

struct quic {
    cl3_session *session;
    ngtcp2_conn *conn;
    gnutls_session_t tls;
    gnutls_certificate_credentials_t credentials;
    // What the client is known by.
    gnutls_pcert_st identity[identity_capacity];
    unsigned identity_count;
    gnutls_privkey_t identity_key;
    uint8_t *identity_reader;
    size_t identity_reader_count;
    bool is_certificate_wanted;
    bool is_handshake_confirmed;
    uint8_t *issuers;
    size_t issuers_count;
    ngtcp2_crypto_conn_ref reference;
    struct sockaddr_storage local, remote;
    ngtcp2_path path;
    uint64_t now;

    // What GnuTLS is told, and what there is to be sent.
    bool is_ticket_used, allows_early_data, offers_early_data;
    bool was_reset;
    int early_data_accepted;
    unsigned tickets;
    uint32_t ticket_lifetime;  // of the ticket that is being read
    size_t message_length;     // of the handshake's message that is not whole yet, or more

    // What the last packets were encrypted with: a secret and the packet's number, so that each of so many in a row has a place
    // of its own.
    uint64_t nonces[nonce_capacity];

    uint64_t keep_alive;
    bool wants_ping;

    uint8_t *room;
    // A datagram behind the last batch, which did not go with it.
    size_t held_start, held_count;
    uint8_t held_ecn;
    uint8_t words[1500];
    size_t word_count;
};

static struct quic *quic_of(cl3_session *self) { return self->link; }

// ngtcp2 takes for granted that time does not go back.
static uint64_t advance(struct quic *quic, uint64_t now) {
    if (now > quic->now) quic->now = now;
    return quic->now;
}

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
    if (quic->tls) gnutls_deinit(quic->tls);
    if (quic->credentials) gnutls_certificate_free_credentials(quic->credentials);
    for (unsigned index = 0; index < quic->identity_count; index++) gnutls_pcert_deinit(&quic->identity[index]);
    if (quic->identity_key) gnutls_privkey_deinit(quic->identity_key);
    free(quic->identity_reader);
    free(quic->issuers);
    free(quic->room);
    free(quic);
}

static const struct transport transport = {
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

// Whose datagram is read, and whether a packet of it was new: ngtcp2 does not say for which connection it has one decrypted.
static _Thread_local struct quic *receiver;
static _Thread_local bool is_new;

// Anybody on the way may send a packet again that he has seen. Those of long ago count as new: to end a connection he has to
// have seen thousands of it.
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

static int on_crypto_data(
    ngtcp2_conn *conn, encryption_level level, uint64_t offset, const uint8_t *bytes, size_t count, void *user) {
    cl3_session *self = user;
    struct quic *quic = quic_of(self);
    if (ngtcp2_conn_get_handshake_completed(conn)) self->overhead += count;
    quic->message_length += count;
    if (quic->message_length > message_capacity) {
        cl3_set_problem(self, CL3_VIOLATION, crypto_buffer_exceeded, false, "A message of the handshake is too long.");
        return NGTCP2_ERR_CALLBACK_FAILURE;
    }
    return ngtcp2_crypto_recv_crypto_data_cb(conn, level, offset, bytes, count, user);
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
        self->overhead += stream_overhead;
    }
    return passed_on(cl3_stream_closed(self, id, stream_user, code));
}

static int on_stream_reset(
    ngtcp2_conn *conn, int64_t id, uint64_t final_size, uint64_t code, void *user, void *stream_user) {
    return passed_on(cl3_peer_reset(user, id, stream_user, code));
}

static int on_stop_sending(ngtcp2_conn *conn, int64_t id, uint64_t code, void *user, void *stream_user) {
    return passed_on(cl3_peer_stopped(user, id, stream_user));
}

static int on_more_stream_data(
    ngtcp2_conn *conn, int64_t id, uint64_t limit, void *user, void *stream_user) {
    cl3_session *self = user;
    if (self->http) nghttp3_conn_unblock_stream(self->http, id);
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

// ---- TLS

static uint16_t cipher_suite(gnutls_session_t tls) {
    switch (gnutls_cipher_get(tls)) {
    case GNUTLS_CIPHER_AES_128_GCM: return 0x1301;
    case GNUTLS_CIPHER_AES_256_GCM: return 0x1302;
    case GNUTLS_CIPHER_CHACHA20_POLY1305: return 0x1303;
    default: return 0;
    }
}

static int on_handshake_complete(ngtcp2_conn *conn, void *user) {
    cl3_session *self = user;
    struct quic *quic = quic_of(self);
    gnutls_datum_t protocol;
    if (gnutls_alpn_get_selected_protocol(quic->tls, &protocol) != 0 || protocol.size != 2
        || memcmp(protocol.data, "h3", 2) != 0) {
        cl3_set_problem(self, CL3_TLS, no_application_protocol, false, "The server does not agree on h3.");
        return NGTCP2_ERR_CALLBACK_FAILURE;
    }
    if (quic->offers_early_data) {
        quic->early_data_accepted = (gnutls_session_get_flags(quic->tls) & GNUTLS_SFLAGS_EARLY_DATA) != 0;
        if (!quic->early_data_accepted) {
            // All streams are gone with it, those of HTTP/3 too.
            if (reject_early_data(conn) != 0) return NGTCP2_ERR_CALLBACK_FAILURE;
            self->callbacks.early_data_rejected(self->owner);
            cl3_end_http(self);
        }
    }
    if (!self->http && cl3_start_http(self) != 0) return NGTCP2_ERR_CALLBACK_FAILURE;
    unsigned count = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(quic->tls, &count);
    cl3_bytes certificates[16];
    if (!chain) count = 0;
    if (count > sizeof certificates / sizeof *certificates) count = sizeof certificates / sizeof *certificates;
    for (unsigned index = 0; index < count; index++) {
        certificates[index] = (cl3_bytes){chain[index].data, chain[index].size};
    }
    self->callbacks.handshake_complete(self->owner, certificates, count, cipher_suite(quic->tls));
    return 0;
}

static int on_handshake_confirmed(ngtcp2_conn *conn, void *user) {
    (void)conn;
    quic_of(user)->is_handshake_confirmed = true;
    return 0;
}

static cl3_session *session_of(gnutls_session_t tls) {
    ngtcp2_crypto_conn_ref *reference = gnutls_session_get_ptr(tls);
    return ((struct quic *)reference->user_data)->session;
}

static int on_ticket(gnutls_session_t tls, unsigned when, const gnutls_datum_t *message) {
    cl3_session *self = session_of(tls);
    struct quic *quic = quic_of(self);
    if (when == GNUTLS_HOOK_PRE) {
        // It begins with its lifetime (RFC 8446 4.6.1), and afterwards GnuTLS has read it away.
        const uint8_t *bytes = message ? message->data : NULL;
        quic->ticket_lifetime = !bytes || message->size < 4
            ? 0
            : (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
        return 0;
    }
    self->overhead += ticket_overhead;
    if (quic->ticket_lifetime == 0 || quic->tickets >= ticket_count) return 0;
    gnutls_datum_t data;
    if (gnutls_session_get_data2(tls, &data) != 0) return 0;
    quic->tickets++;
    uint8_t parameters[512];
#if CL3_NGTCP2_IS_STABLE
    ngtcp2_ssize count = ngtcp2_conn_encode_0rtt_transport_params(quic->conn, parameters, sizeof parameters);
#else
    const ngtcp2_transport_params *remote = ngtcp2_conn_get_remote_transport_params(quic->conn);
    ngtcp2_ssize count = remote ? ngtcp2_encode_transport_params(
                                      parameters, sizeof parameters,
                                      NGTCP2_TRANSPORT_PARAMS_TYPE_ENCRYPTED_EXTENSIONS, remote)
                                : 0;
#endif
    if (count > 0) {
        self->callbacks.ticket(
            self->owner, (cl3_bytes){data.data, data.size}, (cl3_bytes){parameters, (size_t)count},
            gnutls_record_get_max_early_data_size(tls) > 0, quic->ticket_lifetime);
    }
    // GnuTLS takes its memory from malloc, since nobody may tell it otherwise any more.
    free(data.data);
    return 0;
}

// GnuTLS follows some messages that QUIC has no place for, and hands out secrets then that ngtcp2 has: that would end the process.
static int on_message(
    gnutls_session_t tls, unsigned type, unsigned when, unsigned incoming, const gnutls_datum_t *message) {
    if (!incoming) return 0;
    cl3_session *self = session_of(tls);
    struct quic *quic = quic_of(self);
    quic->message_length = 0;
    switch (type) {
    case GNUTLS_HANDSHAKE_NEW_SESSION_TICKET: return on_ticket(tls, when, message);
    // RFC 9001 section 6
    case GNUTLS_HANDSHAKE_KEY_UPDATE: return GNUTLS_E_UNEXPECTED_HANDSHAKE_PACKET;
    case GNUTLS_HANDSHAKE_HELLO_RETRY_REQUEST:
        if (!quic->is_ticket_used || !quic->allows_early_data) return 0;
        cl3_set_problem(self, CL3_HELLO_RETRY_REQUEST, user_canceled, false, NULL);
        return GNUTLS_E_UNEXPECTED_HANDSHAKE_PACKET;
    default: return 0;
    }
}

static ngtcp2_conn *get_connection(ngtcp2_crypto_conn_ref *reference) {
    return ((struct quic *)reference->user_data)->conn;
}

// The server wants a certificate. GnuTLS cannot wait for one, so what is there is all that there is.
static int on_certificate_wanted(
    gnutls_session_t tls, const gnutls_datum_t *names, int count, const gnutls_pk_algorithm_t *kinds, int kind_count,
    gnutls_pcert_st **certificates, unsigned *certificate_count, gnutls_privkey_t *key) {
    struct quic *quic = quic_of(session_of(tls));
    quic->is_certificate_wanted = true;
    *certificates = quic->identity_count ? quic->identity : NULL;
    *certificate_count = quic->identity_count;
    *key = quic->identity_count ? quic->identity_key : NULL;
    if (quic->issuers) return 0;
    size_t length = 0;
    int kept = 0;
    for (; kept < count; kept++) {
        if (names[kept].size > UINT16_MAX || length + 2 + names[kept].size > issuers_capacity) break;
        length += 2 + names[kept].size;
    }
    quic->issuers = malloc(length ? length : 1);
    if (!quic->issuers) return GNUTLS_E_MEMORY_ERROR;
    uint8_t *next = quic->issuers;
    for (int index = 0; index < kept; index++) {
        *next++ = (uint8_t)(names[index].size >> 8);
        *next++ = (uint8_t)names[index].size;
        memcpy(next, names[index].data, names[index].size);
        next += names[index].size;
    }
    quic->issuers_count = length;
    return 0;
}

// The server has proved who it is, and is about to be told who this side is.
static int on_server_proved(gnutls_session_t tls) {
    struct quic *quic = quic_of(session_of(tls));
    unsigned count = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(tls, &count);
    bool is_reader = chain && count > 0 && chain->size == quic->identity_reader_count
        && memcmp(chain->data, quic->identity_reader, chain->size) == 0;
    return is_reader ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

static gnutls_datum_t datum_of(cl3_bytes bytes) { return (gnutls_datum_t){bytes.start, (unsigned)bytes.count}; }

static bool take_identity(struct quic *quic, const cl3_opening *opening) {
    if (opening->identity_count == 0) return true;
    gnutls_datum_t key = datum_of(opening->identity_key);
    if (gnutls_privkey_init(&quic->identity_key) != 0) return false;
    if (gnutls_privkey_import_x509_raw(quic->identity_key, &key, GNUTLS_X509_FMT_DER, NULL, 0) != 0) return false;
    for (size_t index = 0; index < opening->identity_count && index < identity_capacity; index++) {
        gnutls_datum_t certificate = datum_of(opening->identity[index]);
        if (gnutls_pcert_import_x509_raw(&quic->identity[index], &certificate, GNUTLS_X509_FMT_DER, 0) != 0) {
            return false;
        }
        quic->identity_count++;
    }
    if (opening->identity_reader.count == 0) return true;
    quic->identity_reader = malloc(opening->identity_reader.count);
    if (!quic->identity_reader) return false;
    memcpy(quic->identity_reader, opening->identity_reader.start, opening->identity_reader.count);
    quic->identity_reader_count = opening->identity_reader.count;
    return true;
}

static bool start_tls(struct quic *quic, const cl3_opening *opening) {
    quic->allows_early_data = opening->allows_early_data;
    const unsigned early = opening->allows_early_data ? GNUTLS_ENABLE_EARLY_DATA : 0;
    const unsigned flags = GNUTLS_CLIENT | GNUTLS_NO_END_OF_EARLY_DATA | early;
    if (gnutls_init(&quic->tls, flags) != 0) return false;
    if (ngtcp2_crypto_gnutls_configure_client_session(quic->tls) != 0) return false;
    if (gnutls_priority_set_direct(quic->tls, priorities, NULL) != 0) return false;
    quic->reference = (ngtcp2_crypto_conn_ref){.get_conn = get_connection, .user_data = quic};
    gnutls_session_set_ptr(quic->tls, &quic->reference);
    // What verifies sees to it alone that an identity goes to whom it is meant for: whoever has made the session is told the
    // chain, and nothing goes out before its word.
    if (gnutls_certificate_allocate_credentials(&quic->credentials) != 0) return false;
    gnutls_certificate_set_retrieve_function2(quic->credentials, on_certificate_wanted);
    if (quic->identity_reader) gnutls_certificate_set_verify_function(quic->credentials, on_server_proved);
    if (gnutls_credentials_set(quic->tls, GNUTLS_CRD_CERTIFICATE, quic->credentials) != 0) return false;
    const gnutls_datum_t protocol = {.data = (unsigned char *)"h3", .size = 2};
    if (gnutls_alpn_set_protocols(quic->tls, &protocol, 1, GNUTLS_ALPN_MANDATORY) != 0) return false;
    if (opening->server_name
        && gnutls_server_name_set(quic->tls, GNUTLS_NAME_DNS, opening->server_name, strlen(opening->server_name)) != 0) {
        return false;
    }
    gnutls_handshake_set_hook_function(quic->tls, GNUTLS_HANDSHAKE_ANY, GNUTLS_HOOK_BOTH, on_message);
    // A ticket that cannot be read is none.
    quic->is_ticket_used = opening->ticket.count > 0
        && gnutls_session_set_data(quic->tls, opening->ticket.start, opening->ticket.count) == 0;
    return true;
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

static bool start_connection(struct quic *quic, const cl3_limits *limits, const cl3_callbacks *told) {
    const ngtcp2_callbacks callbacks = {
        .client_initial = ngtcp2_crypto_client_initial_cb,
        .recv_crypto_data = on_crypto_data,
        .handshake_completed = on_handshake_complete,
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
    if (told->qlog) settings.qlog_write = on_qlog;
#else
    if (told->qlog) settings.qlog.write = on_qlog;
#endif
    ngtcp2_transport_params parameters;
    ngtcp2_transport_params_default(&parameters);
    parameters.initial_max_stream_data_bidi_local = limits->stream_window;
    parameters.initial_max_stream_data_uni = limits->stream_window;
    parameters.initial_max_data = limits->connection_window;
    parameters.initial_max_streams_uni = unidirectional_streams;
    parameters.max_idle_timeout = limits->idle_timeout;
    parameters.active_connection_id_limit = 4;
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
    self->transport = &transport;
    self->link = quic;
    quic->session = self;
    quic->now = opening->now;
    quic->early_data_accepted = -1;
    if (!take_identity(quic, opening)) {
        *result = CL3_IDENTITY;
        cl3_free(self);
        return NULL;
    }
    if (!set_path(quic, &opening->endpoints) || !start_tls(quic, opening)
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

bool cl3_is_handshake_complete(cl3_session *self) {
    return ngtcp2_conn_get_handshake_completed(quic_of(self)->conn) != 0;
}

bool cl3_is_handshake_confirmed(cl3_session *self) {
    return self->transport == &transport && quic_of(self)->is_handshake_confirmed;
}

bool cl3_is_resumed(cl3_session *self) {
    return self->transport == &transport && gnutls_session_is_resumed(quic_of(self)->tls) != 0;
}

bool cl3_is_certificate_wanted(cl3_session *self) {
    return self->transport == &transport && quic_of(self)->is_certificate_wanted;
}

cl3_bytes cl3_issuers(cl3_session *self) {
    if (self->transport != &transport) return (cl3_bytes){NULL, 0};
    return (cl3_bytes){quic_of(self)->issuers, quic_of(self)->issuers_count};
}

cl3_bytes cl3_stapled_response(cl3_session *self) {
    gnutls_datum_t response = {NULL, 0};
    if (self->transport != &transport || gnutls_ocsp_status_request_get(quic_of(self)->tls, &response) != 0) {
        return (cl3_bytes){NULL, 0};
    }
    return (cl3_bytes){response.data, response.size};
}

int cl3_accepted_early_data(cl3_session *self) { return quic_of(self)->early_data_accepted; }

bool cl3_offers_early_data(cl3_session *self) {
    return quic_of(self)->offers_early_data && quic_of(self)->early_data_accepted < 0;
}

// ---- ends

static bool may_be_used(struct quic *quic) {
    return !is_in_closing_period(quic->conn) && !is_in_draining_period(quic->conn);
}

static void say_last_words(cl3_session *self, const close_error *error) {
    struct quic *quic = quic_of(self);
    self->is_over = true;
    if (!may_be_used(quic)) return;
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    ngtcp2_pkt_info info;
    ngtcp2_ssize count = ngtcp2_conn_write_connection_close(
        quic->conn, &path.path, &info, quic->words, sizeof quic->words, error, quic->now);
    quic->word_count = count > 0 ? (size_t)count : 0;
}

void cl3_close(cl3_session *self, cl3_code_kind kind, uint64_t code, uint64_t now) {
    if (self->is_over) return;
    cl3_set_problem(self, CL3_CLOSED, code, kind == CL3_CODE_APPLICATION, NULL);
    if (self->transport != &transport) {
        self->is_over = true;
        return;
    }
    advance(quic_of(self), now);
    close_error error;
    close_error_default(&error);
    switch (kind) {
    case CL3_CODE_TRANSPORT: close_error_set_transport(&error, code, NULL, 0); break;
    case CL3_CODE_APPLICATION: close_error_set_application(&error, code, NULL, 0); break;
    case CL3_CODE_ALERT: close_error_set_alert(&error, (uint8_t)code, NULL, 0); break;
    }
    say_last_words(self, &error);
}

cl3_bytes cl3_last_words(cl3_session *self) {
    if (self->transport != &transport) return (cl3_bytes){NULL, 0};
    return (cl3_bytes){quic_of(self)->words, quic_of(self)->word_count};
}

static void keep_peers_words(cl3_session *self) {
    close_error error;
    close_error_default(&error);
#if CL3_NGTCP2_IS_STABLE
    error = *ngtcp2_conn_get_ccerr(quic_of(self)->conn);
#else
    ngtcp2_conn_get_connection_close_error(quic_of(self)->conn, &error);
#endif
    cl3_set_problem(self, CL3_CLOSED_BY_PEER, error.error_code, error.type == CLOSE_ERROR_APPLICATION, NULL);
    size_t count = error.reasonlen < sizeof self->reason ? error.reasonlen : sizeof self->reason;
    if (count) memcpy(self->reason, error.reason, count);
    if (self->problem.result == CL3_CLOSED_BY_PEER) {
        self->problem.text = self->reason;
        self->problem.text_length = count;
    }
}

// Whatever ngtcp2 says no with: why, and what the peer is told. Nothing is written or read after this.
static int failed(cl3_session *self, int result) {
    struct quic *quic = quic_of(self);
    close_error error;
    close_error_default(&error);
    self->is_over = true;
    switch (result) {
    case NGTCP2_ERR_DRAINING:
    case NGTCP2_ERR_CLOSING:
        if (quic->was_reset) cl3_set_problem(self, CL3_STATELESS_RESET, 0, false, NULL);
        else keep_peers_words(self);
        break;
    case NGTCP2_ERR_RECV_VERSION_NEGOTIATION:
    case NGTCP2_ERR_VERSION_NEGOTIATION_FAILURE:
        cl3_set_problem(self, CL3_NO_VERSION, 0, false, NULL);
        break;
    case NGTCP2_ERR_IDLE_CLOSE:
        cl3_set_problem(self, CL3_IDLE, 0, false, NULL);
        break;
    case NGTCP2_ERR_HANDSHAKE_TIMEOUT:
        cl3_set_problem(self, CL3_HANDSHAKE_TIMEOUT, 0, false, NULL);
        break;
    case NGTCP2_ERR_NO_VIABLE_PATH:
        cl3_set_problem(self, CL3_NO_PATH, 0, false, NULL);
        break;
    case NGTCP2_ERR_NOMEM:
        cl3_set_problem(self, CL3_OUT_OF_MEMORY, 0, false, NULL);
        break;
    // The peer would have it keep more than it has room for, such as data with gaps. Before 1.0 ngtcp2 calls that a breach of
    // the protocol, which it is not (RFC 9000 20.1).
    case NGTCP2_ERR_INTERNAL:
        cl3_set_problem(self, CL3_VIOLATION, NGTCP2_INTERNAL_ERROR, false, ngtcp2_strerror(result));
        close_error_set_transport(&error, self->problem.code, NULL, 0);
        say_last_words(self, &error);
        break;
    case NGTCP2_ERR_CRYPTO: {
        uint8_t alert = ngtcp2_conn_get_tls_alert(quic->conn);
        cl3_set_problem(self, CL3_TLS, alert, false, NULL);
        close_error_set_alert(&error, (uint8_t)self->problem.code, NULL, 0);
        say_last_words(self, &error);
        break;
    }
    case NGTCP2_ERR_CALLBACK_FAILURE:
        if (self->problem.result == CL3_TLS) {
            close_error_set_alert(&error, (uint8_t)self->problem.code, NULL, 0);
        } else if (self->problem.result && !self->problem.is_application) {
            close_error_set_transport(&error, self->problem.code, NULL, 0);
        } else {
            cl3_set_problem(self, CL3_VIOLATION, NGHTTP3_H3_INTERNAL_ERROR, true, NULL);
            close_error_set_application(&error, self->problem.code, NULL, 0);
        }
        say_last_words(self, &error);
        break;
    default: {
        uint64_t code = ngtcp2_err_infer_quic_transport_error_code(result);
        cl3_set_problem(self, CL3_VIOLATION, code, false, ngtcp2_strerror(result));
        close_error_set_transport(&error, code, NULL, 0);
        say_last_words(self, &error);
        break;
    }
    }
    return self->problem.result;
}

// After a call into ngtcp2: what was put off, and what came of it.
static int finish(cl3_session *self, int result) {
    // What came before the failure was received.
    if (result != 0 || self->problem.result) cl3_tell_gathered(self);
    self->is_in_library = false;
    if (result != 0) return failed(self, result);
    cl3_settle(self);
    return self->problem.result ? failed(self, NGTCP2_ERR_CALLBACK_FAILURE) : 0;
}

// ---- datagrams and time

int cl3_receive(cl3_session *self, const uint8_t *datagram, size_t count, uint8_t ecn, uint64_t now) {
    if (self->is_over) return self->problem.result;
    if (count == 0) {
        // It is nobody's.
        self->foreign++;
        return 0;
    }
    struct quic *quic = quic_of(self);
    ngtcp2_pkt_info info = {.ecn = ecn & NGTCP2_ECN_MASK};
    self->is_in_library = true;
    receiver = quic;
    is_new = false;
    int result = ngtcp2_conn_read_pkt(quic->conn, &quic->path, &info, datagram, count, advance(quic, now));
    receiver = NULL;
    if (!is_new) self->foreign++;
    return finish(self, result);
}

int cl3_received_all(cl3_session *self) {
    if (self->is_over) return self->problem.result;
    self->is_in_library = true;
    cl3_tell_gathered(self);
    return finish(self, 0);
}

int cl3_handle_expiry(cl3_session *self, uint64_t now) {
    if (self->is_over) return self->problem.result;
    struct quic *quic = quic_of(self);
    self->is_in_library = true;
    return finish(self, ngtcp2_conn_handle_expiry(quic->conn, advance(quic, now)));
}

uint64_t cl3_expiry(cl3_session *self) {
    return self->is_over ? UINT64_MAX : ngtcp2_conn_get_expiry(quic_of(self)->conn);
}

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
            pieces = nghttp3_conn_writev_stream(self->http, &id, &is_last, list, sizeof list / sizeof *list);
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
            // nghttp3 does not name it again. If it did, that would go on for ever.
            if (id == refused) return NGTCP2_ERR_INTERNAL;
            refused = id;
            if (count == NGTCP2_ERR_STREAM_DATA_BLOCKED) nghttp3_conn_block_stream(self->http, id);
            else nghttp3_conn_shutdown_stream_write(self->http, id);
            continue;
        default:
            return count;
        }
    }
}

static void apply_keep_alive(struct quic *quic) {
    // ngtcp2 sends its PING when nothing was sent for that long, which a nanosecond always is.
    ngtcp2_conn_set_keep_alive_timeout(quic->conn, quic->wants_ping ? 1 : quic->keep_alive);
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
    if (!may_be_used(quic)) return failed(self, NGTCP2_ERR_CLOSING);
    if (!quic->room) quic->room = malloc(batch_capacity + largest_datagram);
    if (!quic->room) return failed(self, NGTCP2_ERR_NOMEM);
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
    // Until the round trip was measured, pacing would have the first request wait for a guess.
    if (ngtcp2_conn_get_handshake_completed(quic->conn) && count >= 0) {
        ngtcp2_conn_update_pkt_tx_time(quic->conn, quic->now);
    }
    if (quic->wants_ping && used) {
        quic->wants_ping = false;
        apply_keep_alive(quic);
    }
    int result = finish(self, count < 0 ? (int)count : 0);
    // What was made before an error goes out with the last words.
    *output = (cl3_output){quic->room, used, segment, (uint8_t)ecn};
    return result;
}

void cl3_release_room(cl3_session *self) {
    if (!self->gathering) {
        free(self->gathered);
        self->gathered = NULL;
    }
    if (self->transport != &transport || quic_of(self)->held_count) return;
    free(quic_of(self)->room);
    quic_of(self)->room = NULL;
}

void cl3_set_keep_alive(cl3_session *self, uint64_t interval) {
    if (self->is_over || self->transport != &transport) return;
    quic_of(self)->keep_alive = interval;
    apply_keep_alive(quic_of(self));
}

void cl3_ping(cl3_session *self) {
    if (self->is_over || self->transport != &transport) return;
    quic_of(self)->wants_ping = true;
    apply_keep_alive(quic_of(self));
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
