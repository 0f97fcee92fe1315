// The server's side of QUIC and HTTP/3 for simulated hosts, over ngtcp2, GnuTLS and nghttp3, which the library uses too.
#include "Kernel.h"
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <nghttp3/nghttp3.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

// ---- two generations of ngtcp2: see Sources/CLoadingHTTP3/versions.h

#if NGTCP2_VERSION_NUM >= 0x010000
typedef ngtcp2_ccerr close_error;
#define close_error_default ngtcp2_ccerr_default
#define close_error_set_alert ngtcp2_ccerr_set_tls_alert
#define close_error_set_application ngtcp2_ccerr_set_application_error
#define shut_stream(conn, id, code) ngtcp2_conn_shutdown_stream((conn), 0, (id), (code))
#define shut_reading(conn, id, code) ngtcp2_conn_shutdown_stream_read((conn), 0, (id), (code))
#define shut_writing(conn, id, code) ngtcp2_conn_shutdown_stream_write((conn), 0, (id), (code))
typedef ngtcp2_encryption_level encryption_level;
#define LEVEL_OF_APPLICATION NGTCP2_ENCRYPTION_LEVEL_1RTT
#define IS_EARLY NGTCP2_STREAM_DATA_FLAG_0RTT
#else
typedef ngtcp2_connection_close_error close_error;
#define close_error_default ngtcp2_connection_close_error_default
#define close_error_set_alert ngtcp2_connection_close_error_set_transport_error_tls_alert
#define close_error_set_application ngtcp2_connection_close_error_set_application_error
#define shut_stream ngtcp2_conn_shutdown_stream
#define shut_reading ngtcp2_conn_shutdown_stream_read
#define shut_writing ngtcp2_conn_shutdown_stream_write
typedef ngtcp2_crypto_level encryption_level;
#define LEVEL_OF_APPLICATION NGTCP2_CRYPTO_LEVEL_APPLICATION
#define IS_EARLY NGTCP2_STREAM_DATA_FLAG_EARLY
#endif

#if NGHTTP3_VERSION_NUM >= 0x010000
#define set_priority nghttp3_conn_set_server_stream_priority
#else
#define set_priority nghttp3_conn_set_stream_priority
#endif

enum { id_length = 12, most_ids = 32, secret_length = 32, chunk_capacity = 16384, longest_datagram = 1452 };

static void require(bool condition, const char *what) {
    if (!condition) kernel_fail(simulation_stuck, "HTTP/3: %s", what);
}

static void fill(uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)simulation_random(256);
}

// ---- a host

struct simulation_http3_host {
    simulation_tls_host *tls;
    simulation_http3_options options;
    // NULL before the first connection.
    gnutls_certificate_credentials_t credentials;
    gnutls_anti_replay_t anti_replay;
    gnutls_datum_t ticket_key;
    // Of tokens: those of Retry, and those of stateless resets.
    uint8_t secret[secret_length];
};

simulation_http3_host *simulation_http3_host_new(simulation_tls_host *tls, simulation_http3_options options) {
    simulation_http3_host *host = calloc(1, sizeof *host);
    host->tls = tls;
    host->options = options;
    fill(host->secret, sizeof host->secret);
    return host;
}

// No early data are sent twice in a simulated world.
static int accept_early_data(void *context, time_t expiry, const gnutls_datum_t *key, const gnutls_datum_t *data) { return 0; }

static void prepare(simulation_http3_host *host) {
    if (host->credentials != NULL) return;
    char *certificate, *key;
    kernel_tls_identity(host->tls, &certificate, &key);
    gnutls_datum_t certificate_text = { (uint8_t *)certificate, (unsigned)strlen(certificate) };
    gnutls_datum_t key_text = { (uint8_t *)key, (unsigned)strlen(key) };
    require(gnutls_certificate_allocate_credentials(&host->credentials) == 0, "credentials");
    require(
        gnutls_certificate_set_x509_key_mem(host->credentials, &certificate_text, &key_text, GNUTLS_X509_FMT_PEM) == 0,
        "a certificate");
    free(certificate);
    free(key);
    require(gnutls_session_ticket_key_generate(&host->ticket_key) == 0, "a key of tickets");
    require(gnutls_anti_replay_init(&host->anti_replay) == 0, "early data");
    gnutls_anti_replay_set_add_function(host->anti_replay, accept_early_data);
}

// ---- a connection

struct chunk { struct chunk *next; size_t count, acknowledged; uint8_t bytes[]; };

struct stream {
    int64_t id;
    bool is_refused, is_early;
    // Of the response, not acknowledged yet: ngtcp2 has pointers to them.
    struct chunk *first, *last;
    struct stream *next;
};

struct simulation_http3 {
    simulation_http3_host *host;
    simulation_http3_callbacks callbacks;
    ngtcp2_conn *conn;
    gnutls_session_t tls;
    ngtcp2_crypto_conn_ref reference;
    struct sockaddr_storage local, remote;
    ngtcp2_path path;
    nghttp3_conn *http;
    struct stream *streams;
    // Those at which the client may send: its own first one, and those of the server.
    ngtcp2_cid ids[most_ids];
    int id_count;
    bool is_over;
    uint8_t close_datagram[longest_datagram];
    int64_t close_count;
};

static bool is_of_request(int64_t id) { return (id & 3) == 0; }

static struct stream *stream_numbered(simulation_http3 *http3, int64_t id) {
    for (struct stream *stream = http3->streams; stream != NULL; stream = stream->next) if (stream->id == id) return stream;
    return NULL;
}

static void free_stream(simulation_http3 *http3, struct stream *stream) {
    struct stream **link = &http3->streams;
    while (*link != stream) link = &(*link)->next;
    *link = stream->next;
    for (struct chunk *chunk = stream->first, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(stream);
}

static void close_stream(simulation_http3 *http3, int64_t id, uint64_t code) {
    struct stream *stream = stream_numbered(http3, id);
    if (stream == NULL) return;
    if (!stream->is_refused) http3->callbacks.closed(http3->callbacks.context, id, code);
    free_stream(http3, stream);
}

// ---- what nghttp3 calls

static int on_acknowledged_body(nghttp3_conn *http, int64_t id, uint64_t count, void *user, void *stream_user) {
    struct stream *stream = stream_numbered(user, id);
    while (stream != NULL && count > 0 && stream->first != NULL) {
        struct chunk *chunk = stream->first;
        size_t left = chunk->count - chunk->acknowledged, taken = count < left ? (size_t)count : left;
        chunk->acknowledged += taken;
        count -= taken;
        if (chunk->acknowledged < chunk->count) break;
        stream->first = chunk->next;
        if (stream->last == chunk) stream->last = NULL;
        free(chunk);
    }
    return 0;
}

static int on_http_stream_close(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user) {
    close_stream(user, id, code);
    return 0;
}

static void give_back(simulation_http3 *http3, int64_t id, size_t count) {
    ngtcp2_conn_extend_max_stream_offset(http3->conn, id, count);
    ngtcp2_conn_extend_max_offset(http3->conn, count);
}

static int on_body(nghttp3_conn *http, int64_t id, const uint8_t *bytes, size_t count, void *user, void *stream_user) {
    simulation_http3 *http3 = user;
    http3->callbacks.data(http3->callbacks.context, id, bytes, (int64_t)count);
    give_back(http3, id, count);
    return 0;
}

static int on_consumed_later(nghttp3_conn *http, int64_t id, size_t count, void *user, void *stream_user) {
    give_back(user, id, count);
    return 0;
}

static int on_field(nghttp3_conn *http, int64_t id, int32_t token, nghttp3_rcbuf *name, nghttp3_rcbuf *value, uint8_t flags,
    void *user, void *stream_user) {
    simulation_http3 *http3 = user;
    nghttp3_vec name_bytes = nghttp3_rcbuf_get_buf(name), value_bytes = nghttp3_rcbuf_get_buf(value);
    http3->callbacks.field(http3->callbacks.context, id, name_bytes.base, (int64_t)name_bytes.len, value_bytes.base,
        (int64_t)value_bytes.len);
    return 0;
}

static int on_request(nghttp3_conn *http, int64_t id, void *user, void *stream_user) {
    simulation_http3 *http3 = user;
    struct stream *stream = stream_numbered(http3, id);
    http3->callbacks.request(http3->callbacks.context, id, stream != NULL && stream->is_early);
    return 0;
}

// nghttp3 refuses what comes after its GOAWAY.
static int on_stop(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user) {
    return shut_reading(((simulation_http3 *)user)->conn, id, code);
}
static int on_reset(nghttp3_conn *http, int64_t id, uint64_t code, void *user, void *stream_user) {
    return shut_writing(((simulation_http3 *)user)->conn, id, code);
}

static int begin_http(simulation_http3 *http3) {
    static const nghttp3_callbacks callbacks = {
        .acked_stream_data = on_acknowledged_body, .stream_close = on_http_stream_close, .recv_data = on_body,
        .deferred_consume = on_consumed_later, .recv_header = on_field, .end_stream = on_request, .stop_sending = on_stop,
        .reset_stream = on_reset,
    };
    nghttp3_settings settings;
    nghttp3_settings_default(&settings);
    settings.qpack_max_dtable_capacity = 4096;
    settings.qpack_blocked_streams = 100;
    if (nghttp3_conn_server_new(&http3->http, &callbacks, &settings, nghttp3_mem_default(), http3) != 0) return -1;
    nghttp3_conn_set_max_client_streams_bidi(http3->http, http3->host->options.most_streams);
    int64_t control, encoder, decoder;
    if (ngtcp2_conn_open_uni_stream(http3->conn, &control, NULL) != 0
        || ngtcp2_conn_open_uni_stream(http3->conn, &encoder, NULL) != 0
        || ngtcp2_conn_open_uni_stream(http3->conn, &decoder, NULL) != 0) {
        return -1;
    }
    nghttp3_conn_bind_control_stream(http3->http, control);
    return nghttp3_conn_bind_qpack_streams(http3->http, encoder, decoder);
}

// ---- what ngtcp2 calls

static int passed_on(int result) {
    return result == 0 || result == NGHTTP3_ERR_STREAM_NOT_FOUND ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
}

static int on_key(ngtcp2_conn *conn, encryption_level level, void *user) {
    return level == LEVEL_OF_APPLICATION ? passed_on(begin_http(user)) : 0;
}

static int on_handshake_completed(ngtcp2_conn *conn, void *user) {
    simulation_http3 *http3 = user;
    int tickets = (int)http3->host->options.tickets;
    if (tickets > 0) require(gnutls_session_ticket_send(http3->tls, (unsigned)tickets, 0) == 0, "tickets");
    return 0;
}

static int on_stream_open(ngtcp2_conn *conn, int64_t id, void *user) {
    simulation_http3 *http3 = user;
    if (!is_of_request(id)) return 0;
    struct stream *stream = calloc(1, sizeof *stream);
    stream->id = id;
    stream->is_refused = !http3->callbacks.opened(http3->callbacks.context, id);
    stream->next = http3->streams;
    http3->streams = stream;
    return 0;
}

static int on_stream_data(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t offset, const uint8_t *bytes, size_t count,
    void *user, void *stream_user) {
    simulation_http3 *http3 = user;
    struct stream *stream = stream_numbered(http3, id);
    if (stream != NULL && stream->is_refused) {
        give_back(http3, id, count);
        return 0;
    }
    if (stream != NULL && (flags & IS_EARLY)) stream->is_early = true;
    bool is_last = (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0;
    nghttp3_ssize consumed = nghttp3_conn_read_stream(http3->http, id, bytes, count, is_last);
    if (consumed < 0) {
        kernel_note("HTTP/3, stream %lld: %s", (long long)id, nghttp3_strerror((int)consumed));
        return NGTCP2_ERR_CALLBACK_FAILURE;
    }
    give_back(http3, id, (size_t)consumed);
    return 0;
}

static int on_acknowledged(ngtcp2_conn *conn, int64_t id, uint64_t offset, uint64_t count, void *user, void *stream_user) {
    return passed_on(nghttp3_conn_add_ack_offset(((simulation_http3 *)user)->http, id, count));
}

static int on_stream_close(ngtcp2_conn *conn, uint32_t flags, int64_t id, uint64_t code, void *user, void *stream_user) {
    simulation_http3 *http3 = user;
    if (!(flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET)) code = NGHTTP3_H3_NO_ERROR;
    if (is_of_request(id)) ngtcp2_conn_extend_max_streams_bidi(conn, 1);
    int result = nghttp3_conn_close_stream(http3->http, id, code);
    // nghttp3 does not know a stream of which it has read nothing.
    close_stream(http3, id, code);
    return passed_on(result);
}

static int on_stream_reset(ngtcp2_conn *conn, int64_t id, uint64_t size, uint64_t code, void *user, void *stream_user) {
    return passed_on(nghttp3_conn_shutdown_stream_read(((simulation_http3 *)user)->http, id));
}

static int on_stop_sending(ngtcp2_conn *conn, int64_t id, uint64_t code, void *user, void *stream_user) {
    nghttp3_conn_shutdown_stream_write(((simulation_http3 *)user)->http, id);
    return 0;
}

static int on_window(ngtcp2_conn *conn, int64_t id, uint64_t limit, void *user, void *stream_user) {
    return passed_on(nghttp3_conn_unblock_stream(((simulation_http3 *)user)->http, id));
}

static void on_random(uint8_t *bytes, size_t count, const ngtcp2_rand_ctx *context) { fill(bytes, count); }

static int on_new_id(ngtcp2_conn *conn, ngtcp2_cid *id, uint8_t *token, size_t count, void *user) {
    simulation_http3 *http3 = user;
    if (http3->id_count == most_ids) return NGTCP2_ERR_CALLBACK_FAILURE;
    fill(id->data, count);
    id->datalen = count;
    http3->ids[http3->id_count++] = *id;
    return ngtcp2_crypto_generate_stateless_reset_token(token, http3->host->secret, secret_length, id);
}

static int on_removed_id(ngtcp2_conn *conn, const ngtcp2_cid *id, void *user) {
    simulation_http3 *http3 = user;
    for (int i = 0; i < http3->id_count; i++) {
        if (ngtcp2_cid_eq(&http3->ids[i], id)) http3->ids[i--] = http3->ids[--http3->id_count];
    }
    return 0;
}

static ngtcp2_conn *connection_of(ngtcp2_crypto_conn_ref *reference) { return ((simulation_http3 *)reference->user_data)->conn; }

// ---- the beginning of a connection

static void begin_tls(simulation_http3 *http3) {
    const simulation_http3_options *options = &http3->host->options;
    unsigned early = options->accepts_early_data ? GNUTLS_ENABLE_EARLY_DATA : 0;
    require(
        gnutls_init(&http3->tls, GNUTLS_SERVER | GNUTLS_NO_AUTO_SEND_TICKET | GNUTLS_NO_END_OF_EARLY_DATA | early) == 0,
        "a session of TLS");
    const char *priorities = options->wants_other_group
        ? "NORMAL:-VERS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-SECP384R1:%DISABLE_TLS13_COMPAT_MODE"
        : "NORMAL:-VERS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-X25519:%DISABLE_TLS13_COMPAT_MODE";
    require(gnutls_priority_set_direct(http3->tls, priorities, NULL) == 0, "priorities");
    require(ngtcp2_crypto_gnutls_configure_server_session(http3->tls) == 0, "TLS for QUIC");
    require(gnutls_credentials_set(http3->tls, GNUTLS_CRD_CERTIFICATE, http3->host->credentials) == 0, "credentials");
    require(gnutls_session_ticket_enable_server(http3->tls, &http3->host->ticket_key) == 0, "tickets");
    if (options->accepts_early_data) {
        gnutls_anti_replay_enable(http3->tls, http3->host->anti_replay);
        gnutls_record_set_max_early_data_size(http3->tls, UINT32_MAX);
    }
    gnutls_datum_t protocol = { (uint8_t *)"h3", 2 };
    if (options->has_other_protocol) protocol = (gnutls_datum_t){ (uint8_t *)"hq", 2 };
    require(gnutls_alpn_set_protocols(http3->tls, &protocol, 1, GNUTLS_ALPN_MANDATORY) == 0, "a protocol");
    http3->reference = (ngtcp2_crypto_conn_ref){ .get_conn = connection_of, .user_data = http3 };
    gnutls_session_set_ptr(http3->tls, &http3->reference);
}

// Of a token in the first packet, the ID that the client had before the Retry. False if it has no such token.
static bool original_id(simulation_http3 *http3, const ngtcp2_pkt_hd *head, ngtcp2_cid *original) {
#if NGTCP2_VERSION_NUM >= 0x010000
    const uint8_t *token = head->token;
    size_t count = head->tokenlen;
#else
    const uint8_t *token = head->token.base;
    size_t count = head->token.len;
#endif
    const uint64_t lifetime = 60ull * 1000000000;
    return count > 0
        && ngtcp2_crypto_verify_retry_token(
               original, token, count, http3->host->secret, secret_length, head->version, http3->path.remote.addr,
               http3->path.remote.addrlen, &head->dcid, lifetime, (uint64_t)simulation_now())
        == 0;
}

static uint16_t port_of(const struct sockaddr *address) {
    simulation_address ignored;
    uint16_t port;
    kernel_read_address(address, &ignored, &port);
    return port;
}

// As the host sees it. Ports are not used again soon, so the port alone identifies a path.
static unsigned write_client(struct sockaddr_storage *client, bool is_ipv6, uint16_t port) {
    return kernel_write_address((struct sockaddr *)client, sizeof *client, is_ipv6 ? simulation_ipv6 + 1 : 0x0A000001, port);
}

simulation_http3 *simulation_http3_new(
    simulation_http3_host *host, simulation_http3_callbacks callbacks, uint64_t address, uint16_t port, uint16_t client_port,
    const uint8_t *datagram, int64_t count) {
    ngtcp2_pkt_hd head;
    if (ngtcp2_accept(&head, datagram, (size_t)count) != 0) return NULL;
    simulation_http3 *http3 = calloc(1, sizeof *http3);
    http3->host = host;
    http3->callbacks = callbacks;
    http3->path.local.addr = (ngtcp2_sockaddr *)&http3->local;
    http3->path.local.addrlen = kernel_write_address((struct sockaddr *)&http3->local, sizeof http3->local, address, port);
    http3->path.remote.addr = (ngtcp2_sockaddr *)&http3->remote;
    http3->path.remote.addrlen = write_client(&http3->remote, address >= simulation_ipv6, client_port);
    const ngtcp2_callbacks table = {
        .recv_client_initial = ngtcp2_crypto_recv_client_initial_cb, .recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
        .handshake_completed = on_handshake_completed, .encrypt = ngtcp2_crypto_encrypt_cb,
        .decrypt = ngtcp2_crypto_decrypt_cb, .hp_mask = ngtcp2_crypto_hp_mask_cb, .recv_stream_data = on_stream_data,
        .acked_stream_data_offset = on_acknowledged, .stream_open = on_stream_open, .stream_close = on_stream_close,
        .rand = on_random, .get_new_connection_id = on_new_id, .remove_connection_id = on_removed_id,
        .update_key = ngtcp2_crypto_update_key_cb, .stream_reset = on_stream_reset, .extend_max_stream_data = on_window,
        .delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
        .delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
        .get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb, .stream_stop_sending = on_stop_sending,
        .version_negotiation = ngtcp2_crypto_version_negotiation_cb, .recv_tx_key = on_key,
    };
    ngtcp2_settings settings;
    ngtcp2_settings_default(&settings);
    settings.initial_ts = (uint64_t)simulation_now();
    ngtcp2_transport_params parameters;
    ngtcp2_transport_params_default(&parameters);
    parameters.initial_max_stream_data_bidi_remote = host->options.stream_window;
    parameters.initial_max_stream_data_uni = 65536;
    parameters.initial_max_data = 65536 + host->options.stream_window;
    parameters.initial_max_streams_bidi = host->options.most_streams;
    parameters.initial_max_streams_uni = 3;
    parameters.max_idle_timeout = host->options.idle_timeout;
    parameters.active_connection_id_limit = 4;
    if (original_id(http3, &head, &parameters.original_dcid)) {
        parameters.retry_scid = head.dcid;
        parameters.retry_scid_present = 1;
        settings.token = head.token;
#if NGTCP2_VERSION_NUM >= 0x010000
        settings.tokenlen = head.tokenlen;
        settings.token_type = NGTCP2_TOKEN_TYPE_RETRY;
#endif
    } else {
        parameters.original_dcid = head.dcid;
    }
#if NGTCP2_VERSION_NUM >= 0x010000
    parameters.original_dcid_present = 1;
#endif
    ngtcp2_cid id = { .datalen = id_length };
    fill(id.data, id_length);
    parameters.stateless_reset_token_present = 1;
    ngtcp2_crypto_generate_stateless_reset_token(parameters.stateless_reset_token, host->secret, secret_length, &id);
    http3->ids[http3->id_count++] = head.dcid;
    http3->ids[http3->id_count++] = id;
    prepare(host);
    begin_tls(http3);
    require(
        ngtcp2_conn_server_new(
            &http3->conn, &head.scid, &id, &http3->path, head.version, &table, &settings, &parameters, NULL, http3)
            == 0,
        "a connection");
    ngtcp2_conn_set_tls_native_handle(http3->conn, http3->tls);
    return http3;
}

void simulation_http3_free(simulation_http3 *http3) {
    // It has pointers into the streams.
    ngtcp2_conn_del(http3->conn);
    if (http3->http != NULL) nghttp3_conn_del(http3->http);
    while (http3->streams != NULL) free_stream(http3, http3->streams);
    gnutls_deinit(http3->tls);
    free(http3);
}

// ---- datagrams

bool simulation_http3_is_for(simulation_http3 *http3, const uint8_t *datagram, int64_t count) {
    ngtcp2_version_cid found;
    if (ngtcp2_pkt_decode_version_cid(&found, datagram, (size_t)count, id_length) != 0) return false;
    for (int i = 0; i < http3->id_count; i++) {
        const ngtcp2_cid *id = &http3->ids[i];
        if (id->datalen == found.dcidlen && memcmp(id->data, found.dcid, found.dcidlen) == 0) return true;
    }
    return false;
}

static void write_close(simulation_http3 *http3, const close_error *error) {
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    ngtcp2_pkt_info info;
    ngtcp2_ssize count = ngtcp2_conn_write_connection_close(
        http3->conn, &path.path, &info, http3->close_datagram, sizeof http3->close_datagram, error, (uint64_t)simulation_now());
    http3->close_count = count > 0 ? count : 0;
    http3->is_over = true;
}

void simulation_http3_close(simulation_http3 *http3, uint64_t code) {
    if (http3->is_over) return;
    close_error error;
    close_error_default(&error);
    close_error_set_application(&error, code, NULL, 0);
    write_close(http3, &error);
}

bool simulation_http3_is_over(simulation_http3 *http3) { return http3->is_over; }

// False if the client has violated a protocol.
static bool finish(simulation_http3 *http3, int result) {
    if (result == 0) return true;
    close_error error;
    close_error_default(&error);
    switch (result) {
    case NGTCP2_ERR_DRAINING:
    case NGTCP2_ERR_CLOSING:
    case NGTCP2_ERR_DROP_CONN:
    case NGTCP2_ERR_IDLE_CLOSE:
    case NGTCP2_ERR_HANDSHAKE_TIMEOUT:
        http3->is_over = true;
        return true;
    case NGTCP2_ERR_CRYPTO:
        close_error_set_alert(&error, ngtcp2_conn_get_tls_alert(http3->conn), NULL, 0);
        write_close(http3, &error);
        return http3->host->options.has_other_protocol;
    default:
        kernel_note("QUIC: %s", ngtcp2_strerror(result));
        http3->is_over = true;
        return false;
    }
}

bool simulation_http3_receive(
    simulation_http3 *http3, uint16_t client_port, const uint8_t *datagram, int64_t count, uint8_t mark) {
    if (http3->is_over) return true;
    if (port_of((const struct sockaddr *)&http3->remote) != client_port) kernel_note("QUIC: the client has moved to port %d", client_port);
    write_client(&http3->remote, http3->remote.ss_family == AF_INET6, client_port);
    ngtcp2_pkt_info info = { .ecn = mark };
    uint64_t now = (uint64_t)simulation_now();
    return finish(http3, ngtcp2_conn_read_pkt(http3->conn, &http3->path, &info, datagram, (size_t)count, now));
}

int64_t simulation_http3_expiry(simulation_http3 *http3) {
    uint64_t expiry = http3->is_over ? UINT64_MAX : ngtcp2_conn_get_expiry(http3->conn);
    return expiry > INT64_MAX ? INT64_MAX : (int64_t)expiry;
}

void simulation_http3_expire(simulation_http3 *http3) {
    if (!http3->is_over) finish(http3, ngtcp2_conn_handle_expiry(http3->conn, (uint64_t)simulation_now()));
}

static ngtcp2_ssize write_datagram(
    simulation_http3 *http3, ngtcp2_path *path, ngtcp2_pkt_info *info, uint8_t *buffer, size_t capacity) {
    for (;;) {
        nghttp3_vec list[16];
        nghttp3_ssize pieces = 0;
        int64_t id = -1;
        int is_last = 0;
        if (http3->http != NULL && ngtcp2_conn_get_max_data_left(http3->conn) > 0) {
            pieces = nghttp3_conn_writev_stream(http3->http, &id, &is_last, list, sizeof list / sizeof *list);
            require(pieces >= 0, "what is to be written");
        }
        uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_MORE | (is_last ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0);
        ngtcp2_ssize taken = -1;
        ngtcp2_ssize count = ngtcp2_conn_writev_stream(
            http3->conn, path, info, buffer, capacity, &taken, flags, id, (const ngtcp2_vec *)list, (size_t)pieces,
            (uint64_t)simulation_now());
        if (taken >= 0 && id >= 0) nghttp3_conn_add_write_offset(http3->http, id, (size_t)taken);
        switch (count) {
        case NGTCP2_ERR_WRITE_MORE: continue;
        case NGTCP2_ERR_STREAM_DATA_BLOCKED: nghttp3_conn_block_stream(http3->http, id); continue;
        case NGTCP2_ERR_STREAM_NOT_FOUND:
        case NGTCP2_ERR_STREAM_SHUT_WR: nghttp3_conn_shutdown_stream_write(http3->http, id); continue;
        default: return count;
        }
    }
}

int64_t simulation_http3_take(
    simulation_http3 *http3, uint8_t *buffer, int64_t capacity, uint16_t *client_port, uint8_t *mark) {
    *mark = 0;
    *client_port = port_of((const struct sockaddr *)&http3->remote);
    if (http3->close_count > 0) {
        int64_t count = http3->close_count;
        memcpy(buffer, http3->close_datagram, (size_t)count);
        http3->close_count = 0;
        return count;
    }
    if (http3->is_over) return 0;
    ngtcp2_pkt_info info = { 0 };
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    ngtcp2_ssize count = write_datagram(http3, &path.path, &info, buffer, (size_t)capacity);
    if (count < 0) finish(http3, (int)count);
    if (count > 0) *client_port = port_of((const struct sockaddr *)path.path.remote.addr);
    *mark = (uint8_t)info.ecn;
    return count > 0 ? count : 0;
}

// ---- answers without a connection

int64_t simulation_http3_answer(
    simulation_http3_host *host, simulation_http3_reply reply, uint16_t client_port, bool is_ipv6, const uint8_t *datagram,
    int64_t count, uint8_t *buffer, int64_t capacity) {
    ngtcp2_version_cid found;
    if (ngtcp2_pkt_decode_version_cid(&found, datagram, (size_t)count, id_length) != 0) return 0;
    ngtcp2_pkt_hd head;
    bool begins = ngtcp2_accept(&head, datagram, (size_t)count) == 0;
    ngtcp2_ssize written = 0;
    uint8_t octets[32];
    fill(octets, sizeof octets);
    if (reply == simulation_http3_stateless_reset) {
        // Shorter than what it answers, so that two ends without a connection do not go on for ever.
        if (begins || found.version != 0 || count < 50) return 0;
        ngtcp2_cid id;
        ngtcp2_cid_init(&id, found.dcid, found.dcidlen);
        uint8_t token[NGTCP2_STATELESS_RESET_TOKENLEN];
        ngtcp2_crypto_generate_stateless_reset_token(token, host->secret, secret_length, &id);
        written = ngtcp2_pkt_write_stateless_reset(buffer, (size_t)capacity, token, octets, sizeof octets);
    } else if (!begins) {
        return 0;
    } else if (reply == simulation_http3_other_version) {
        // Of those that nothing supports (RFC 9000 15).
        static const uint32_t versions[] = { 0x1a2a3a4a };
        written = ngtcp2_pkt_write_version_negotiation(
            buffer, (size_t)capacity, octets[0], found.scid, found.scidlen, found.dcid, found.dcidlen, versions, 1);
    } else if (reply == simulation_http3_refusal) {
        written = ngtcp2_crypto_write_connection_close(
            buffer, (size_t)capacity, head.version, &head.scid, &head.dcid, NGTCP2_CONNECTION_REFUSED, NULL, 0);
    } else {
        simulation_http3 asked = { .host = host };
        asked.path.remote.addr = (ngtcp2_sockaddr *)&asked.remote;
        asked.path.remote.addrlen = write_client(&asked.remote, is_ipv6, client_port);
        ngtcp2_cid id = { .datalen = id_length };
        if (original_id(&asked, &head, &id)) return 0;
        id = (ngtcp2_cid){ .datalen = id_length };
        fill(id.data, id_length);
        uint8_t token[NGTCP2_CRYPTO_MAX_RETRY_TOKENLEN];
        ngtcp2_ssize length = ngtcp2_crypto_generate_retry_token(
            token, host->secret, secret_length, head.version, asked.path.remote.addr, asked.path.remote.addrlen, &id, &head.dcid,
            (uint64_t)simulation_now());
        require(length > 0, "a token");
        written = ngtcp2_crypto_write_retry(
            buffer, (size_t)capacity, head.version, &head.scid, &id, &head.dcid, token, (size_t)length);
    }
    return written > 0 ? written : 0;
}

// ---- responses

static nghttp3_ssize read_body(nghttp3_conn *http, int64_t id, nghttp3_vec *list, size_t capacity, uint32_t *flags, void *user,
    void *stream_user) {
    simulation_http3 *http3 = user;
    struct stream *stream = stream_numbered(http3, id);
    if (stream == NULL) return NGHTTP3_ERR_WOULDBLOCK;
    struct chunk *chunk = malloc(sizeof *chunk + chunk_capacity);
    *chunk = (struct chunk){ 0 };
    bool is_last = false;
    chunk->count = (size_t)http3->callbacks.body(http3->callbacks.context, id, chunk->bytes, chunk_capacity, &is_last);
    if (is_last) *flags |= NGHTTP3_DATA_FLAG_EOF;
    if (chunk->count == 0) {
        free(chunk);
        return is_last ? 0 : NGHTTP3_ERR_WOULDBLOCK;
    }
    if (stream->last != NULL) stream->last->next = chunk;
    else stream->first = chunk;
    stream->last = chunk;
    list[0] = (nghttp3_vec){ chunk->bytes, chunk->count };
    return 1;
}

void simulation_http3_respond(
    simulation_http3 *http3, int64_t stream, const char *const *fields, int64_t count, bool has_body, bool is_interim) {
    nghttp3_nv list[32];
    if (count > 32) kernel_fail(simulation_stuck, "a response has more than 32 fields");
    for (int64_t i = 0; i < count; i++) {
        list[i] = (nghttp3_nv){
            .name = (uint8_t *)fields[2 * i], .namelen = strlen(fields[2 * i]),
            .value = (uint8_t *)fields[2 * i + 1], .valuelen = strlen(fields[2 * i + 1]),
        };
    }
    // Responses take turns: one behind a long one would otherwise time out.
    const nghttp3_pri priority = { .urgency = NGHTTP3_DEFAULT_URGENCY, .inc = 1 };
    set_priority(http3->http, stream, &priority);
    nghttp3_data_reader reader = { .read_data = read_body };
    if (is_interim) nghttp3_conn_submit_info(http3->http, stream, list, (size_t)count);
    else nghttp3_conn_submit_response(http3->http, stream, list, (size_t)count, has_body ? &reader : NULL);
}

void simulation_http3_resume(simulation_http3 *http3, int64_t stream) { nghttp3_conn_resume_stream(http3->http, stream); }

void simulation_http3_reset(simulation_http3 *http3, int64_t stream, uint64_t code) {
    nghttp3_conn_shutdown_stream_read(http3->http, stream);
    nghttp3_conn_shutdown_stream_write(http3->http, stream);
    shut_stream(http3->conn, stream, code);
}

void simulation_http3_announce_end(simulation_http3 *http3) { nghttp3_conn_submit_shutdown_notice(http3->http); }
void simulation_http3_go_away(simulation_http3 *http3) { nghttp3_conn_shutdown(http3->http); }
