// The handshake: TLS by GnuTLS, tickets, and certificates of both sides.
#ifdef LOADING_HTTP3

#include "quic.h"

#include <stdlib.h>
#include <string.h>

static const char priorities[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305:-GROUP-ALL:+GROUP-X25519:"
    "+GROUP-SECP256R1:+GROUP-SECP384R1:+GROUP-SECP521R1:%DISABLE_TLS13_COMPAT_MODE";
static const uint8_t no_application_protocol = 120;
static const uint8_t user_canceled = 90;
static const uint64_t crypto_buffer_exceeded = 0xd;

static uint16_t cipher_suite(gnutls_session_t tls) {
    switch (gnutls_cipher_get(tls)) {
    case GNUTLS_CIPHER_AES_128_GCM: return 0x1301;
    case GNUTLS_CIPHER_AES_256_GCM: return 0x1302;
    case GNUTLS_CIPHER_CHACHA20_POLY1305: return 0x1303;
    default: return 0;
    }
}

static cl3_session *session_of(gnutls_session_t tls) {
    ngtcp2_crypto_conn_ref *reference = gnutls_session_get_ptr(tls);
    return ((struct quic *)reference->user_data)->session;
}

int cl3_on_crypto_data(
    ngtcp2_conn *conn, encryption_level level, uint64_t offset, const uint8_t *bytes, size_t count, void *user) {
    cl3_session *self = user;
    struct quic *quic = quic_of(self);
    if (ngtcp2_conn_get_handshake_completed(conn)) self->work.bytes += count;
    quic->message_length += count;
    if (quic->message_length > self->limits.handshake_message) {
        cl3_set_problem(self, CL3_VIOLATION, crypto_buffer_exceeded, false, "A message of the handshake is too long.");
        return NGTCP2_ERR_CALLBACK_FAILURE;
    }
    return ngtcp2_crypto_recv_crypto_data_cb(conn, level, offset, bytes, count, user);
}

int cl3_on_handshake_complete(ngtcp2_conn *conn, void *user) {
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
    const ngtcp2_transport_params *remote = ngtcp2_conn_get_remote_transport_params(conn);
    if (remote) quic->peer_idle_timeout = remote->max_idle_timeout;
    cl3_apply_keep_alive(quic);
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

static int on_ticket(gnutls_session_t tls, unsigned when, const gnutls_datum_t *message) {
    cl3_session *self = session_of(tls);
    struct quic *quic = quic_of(self);
    if (when == GNUTLS_HOOK_PRE) {
        // It begins with its lifetime (RFC 8446 4.6.1), which GnuTLS does not report afterwards.
        const uint8_t *bytes = message ? message->data : NULL;
        quic->ticket_lifetime = !bytes || message->size < 4
            ? 0
            : (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
        return 0;
    }
    self->work.tickets++;
    if (quic->ticket_lifetime == 0 || quic->tickets >= self->limits.tickets) return 0;
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
    // GnuTLS allocates with malloc; current versions have no hook for it.
    free(data.data);
    return 0;
}

// GnuTLS accepts some messages that QUIC does not allow, and then installs secrets that ngtcp2 has already: an assertion there.
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

// The server requests a certificate. GnuTLS cannot wait for one, so it uses the one that is set, or none.
static int on_certificate_wanted(
    gnutls_session_t tls, const gnutls_datum_t *names, int count, const gnutls_pk_algorithm_t *kinds, int kind_count,
    gnutls_pcert_st **certificates, unsigned *certificate_count, gnutls_privkey_t *key) {
    cl3_session *self = session_of(tls);
    struct quic *quic = quic_of(self);
    quic->is_certificate_wanted = true;
    *certificates = quic->identity_count ? quic->identity : NULL;
    *certificate_count = quic->identity_count;
    *key = quic->identity_count ? quic->identity_key : NULL;
    if (quic->issuers) return 0;
    size_t length = 0;
    int kept = 0;
    for (; kept < count; kept++) {
        if (names[kept].size > UINT16_MAX || length + 2 + names[kept].size > self->limits.issuers) break;
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

// The server is authenticated, and the client certificate is about to be sent.
static int on_server_proved(gnutls_session_t tls) {
    struct quic *quic = quic_of(session_of(tls));
    unsigned count = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(tls, &count);
    bool is_reader = chain && count > 0 && chain->size == quic->identity_reader_count
        && memcmp(chain->data, quic->identity_reader, chain->size) == 0;
    return is_reader ? 0 : GNUTLS_E_CERTIFICATE_ERROR;
}

static gnutls_datum_t datum_of(cl3_bytes bytes) { return (gnutls_datum_t){bytes.start, (unsigned)bytes.count}; }

bool cl3_take_identity(struct quic *quic, const cl3_opening *opening) {
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

static char *write_hex(char *next, const gnutls_datum_t *bytes) {
    static const char digits[] = "0123456789abcdef";
    for (unsigned index = 0; index < bytes->size; index++) {
        *next++ = digits[bytes->data[index] >> 4];
        *next++ = digits[bytes->data[index] & 15];
    }
    return next;
}

static int on_secret(gnutls_session_t tls, const char *label, const gnutls_datum_t *secret) {
    cl3_session *self = session_of(tls);
    gnutls_datum_t random, server_random;
    gnutls_session_get_random(tls, &random, &server_random);
    char line[512];
    const size_t label_length = strlen(label);
    // Two spaces and the end of the string. The longest label has 31 characters, the longest secret 48 bytes.
    if (label_length + 2 * (size_t)random.size + 2 * (size_t)secret->size + 3 > sizeof line) return 0;
    memcpy(line, label, label_length);
    char *next = line + label_length;
    *next++ = ' ';
    next = write_hex(next, &random);
    *next++ = ' ';
    next = write_hex(next, secret);
    *next = 0;
    self->callbacks.secret(self->owner, line);
    return 0;
}

bool cl3_start_tls(struct quic *quic, const cl3_opening *opening) {
    quic->allows_early_data = opening->allows_early_data;
    const unsigned early = opening->allows_early_data ? GNUTLS_ENABLE_EARLY_DATA : 0;
    const unsigned flags = GNUTLS_CLIENT | GNUTLS_NO_END_OF_EARLY_DATA | early;
    if (gnutls_init(&quic->tls, flags) != 0) return false;
    if (ngtcp2_crypto_gnutls_configure_client_session(quic->tls) != 0) return false;
    if (gnutls_priority_set_direct(quic->tls, priorities, NULL) != 0) return false;
    quic->reference = (ngtcp2_crypto_conn_ref){.get_conn = get_connection, .user_data = quic};
    gnutls_session_set_ptr(quic->tls, &quic->reference);
    // In place of GnuTLS's own function, which also writes to SSLKEYLOGFILE where the program does not allow it.
    gnutls_session_set_keylog_function(quic->tls, quic->session->callbacks.secret ? on_secret : NULL);
    // The verify function only ensures that a client certificate is shown to the right server. The owner of the session
    // evaluates the chain, and no request is sent before that.
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
    // An unreadable ticket is not used.
    quic->is_ticket_used = opening->ticket.count > 0
        && gnutls_session_set_data(quic->tls, opening->ticket.start, opening->ticket.count) == 0;
    return true;
}

void cl3_end_tls(struct quic *quic) {
    if (quic->tls) gnutls_deinit(quic->tls);
    if (quic->credentials) gnutls_certificate_free_credentials(quic->credentials);
    for (unsigned index = 0; index < quic->identity_count; index++) gnutls_pcert_deinit(&quic->identity[index]);
    if (quic->identity_key) gnutls_privkey_deinit(quic->identity_key);
    free(quic->identity_reader);
    free(quic->issuers);
}

bool cl3_is_resumed(cl3_session *self) {
    return self->transport == &cl3_quic && gnutls_session_is_resumed(quic_of(self)->tls) != 0;
}

bool cl3_is_certificate_wanted(cl3_session *self) {
    return self->transport == &cl3_quic && quic_of(self)->is_certificate_wanted;
}

cl3_bytes cl3_issuers(cl3_session *self) {
    if (self->transport != &cl3_quic) return (cl3_bytes){NULL, 0};
    return (cl3_bytes){quic_of(self)->issuers, quic_of(self)->issuers_count};
}

cl3_bytes cl3_stapled_response(cl3_session *self) {
    gnutls_datum_t response = {NULL, 0};
    if (self->transport != &cl3_quic || gnutls_ocsp_status_request_get(quic_of(self)->tls, &response) != 0) {
        return (cl3_bytes){NULL, 0};
    }
    return (cl3_bytes){response.data, response.size};
}

#endif
