#include "CTestTLS.h"

#include "DER.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

struct ctt_server {
    SSL_CTX *context;
    uint8_t *protocols;
    unsigned protocols_count;
    int must_agree;
    uint8_t *ocsp_response;
    size_t ocsp_count;
};

struct ctt_session {
    SSL *ssl;
    BIO *from_client;
    BIO *to_client;
};

// MARK: Configuration

static int choose_protocol(SSL *ssl, const uint8_t **chosen, uint8_t *chosen_count, const uint8_t *offered,
                           unsigned offered_count, void *argument) {
    ctt_server *server = argument;
    uint8_t *protocol = NULL;
    (void)ssl;
    if (SSL_select_next_proto(&protocol, chosen_count, server->protocols, server->protocols_count, offered,
                              offered_count)
        == OPENSSL_NPN_NEGOTIATED) {
        *chosen = protocol;
        return SSL_TLSEXT_ERR_OK;
    }
    return server->must_agree ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_NOACK;
}

static int accept_any_certificate(int verified, X509_STORE_CTX *context) {
    (void)verified;
    (void)context;
    return 1;
}

static int staple(SSL *ssl, void *argument) {
    ctt_server *server = argument;
    if (server->ocsp_response == NULL) return SSL_TLSEXT_ERR_NOACK;
    // The session takes ownership, so each gets its own copy.
    uint8_t *copy = OPENSSL_memdup(server->ocsp_response, server->ocsp_count);
    if (copy == NULL) return SSL_TLSEXT_ERR_ALERT_FATAL;
    SSL_set_tlsext_status_ocsp_resp(ssl, copy, (long)server->ocsp_count);
    return SSL_TLSEXT_ERR_OK;
}

ctt_server *ctt_server_create(const uint8_t *certificate, size_t certificate_count, const uint8_t *key,
                              size_t key_count) {
    ctt_server *server = calloc(1, sizeof *server);
    if (server == NULL) return NULL;
    ERR_clear_error();
    server->context = SSL_CTX_new(TLS_server_method());
    X509 *own = ctt_parse_certificate(certificate, certificate_count);
    EVP_PKEY *own_key = ctt_parse_key(key, key_count);
    int made = 0;
    if (server->context && own && own_key) {
        SSL_CTX_set_security_level(server->context, 0);
        SSL_CTX_set_mode(server->context, SSL_MODE_NO_AUTO_CHAIN);
        SSL_CTX_set_session_id_context(server->context, (const uint8_t *)"test", 4);
        // A client that goes without close_notify is an ordinary sight here, not an error.
        SSL_CTX_set_options(server->context, SSL_OP_IGNORE_UNEXPECTED_EOF);
        made = SSL_CTX_use_certificate(server->context, own) == 1
            && SSL_CTX_use_PrivateKey(server->context, own_key) == 1;
    }
    X509_free(own);
    EVP_PKEY_free(own_key);
    if (!made) {
        ctt_server_free(server);
        return NULL;
    }
    return server;
}

void ctt_server_free(ctt_server *server) {
    if (server == NULL) return;
    SSL_CTX_free(server->context);
    OPENSSL_free(server->protocols);
    OPENSSL_free(server->ocsp_response);
    free(server);
}

int ctt_server_add_chain(ctt_server *server, const uint8_t *certificate, size_t count) {
    X509 *parsed = ctt_parse_certificate(certificate, count);
    if (parsed == NULL) return 0;
    if (SSL_CTX_add0_chain_cert(server->context, parsed) == 1) return 1;
    X509_free(parsed);
    return 0;
}

int ctt_server_set_versions(ctt_server *server, int minimum, int maximum) {
    return SSL_CTX_set_min_proto_version(server->context, minimum) == 1
        && SSL_CTX_set_max_proto_version(server->context, maximum) == 1;
}

int ctt_server_withhold_certificate(ctt_server *server) {
    // Suites without authentication exist up to TLS 1.2 only, and without a certificate no others can be had.
    SSL_CTX_set_dh_auto(server->context, 1);
    return SSL_CTX_set_max_proto_version(server->context, TLS1_2_VERSION) == 1
        && SSL_CTX_set_cipher_list(server->context, "aNULL") == 1;
}

int ctt_server_set_ciphers(ctt_server *server, const char *ciphers) {
    SSL_CTX_set_options(server->context, SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_dh_auto(server->context, 1);
    return SSL_CTX_set_cipher_list(server->context, ciphers) == 1;
}

int ctt_server_set_protocols(ctt_server *server, const uint8_t *list, size_t count, int must_agree) {
    server->protocols = OPENSSL_memdup(list, count);
    server->protocols_count = (unsigned)count;
    server->must_agree = must_agree;
    if (server->protocols == NULL) return 0;
    SSL_CTX_set_alpn_select_cb(server->context, choose_protocol, server);
    return 1;
}

int ctt_server_set_client_certificate(ctt_server *server, int policy, int accept_any) {
    int mode = policy == CTT_CLIENT_CERTIFICATE_IGNORED    ? SSL_VERIFY_NONE
               : policy == CTT_CLIENT_CERTIFICATE_REQUIRED ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                                                           : SSL_VERIFY_PEER;
    SSL_CTX_set_verify(server->context, mode, accept_any ? accept_any_certificate : NULL);
    return 1;
}

int ctt_server_add_client_authority(ctt_server *server, const uint8_t *certificate, size_t count) {
    X509 *parsed = ctt_parse_certificate(certificate, count);
    int added = parsed != NULL && SSL_CTX_add_client_CA(server->context, parsed) == 1
        && X509_STORE_add_cert(SSL_CTX_get_cert_store(server->context), parsed) == 1;
    X509_free(parsed);
    return added;
}

int ctt_server_set_tickets(ctt_server *server, unsigned count) {
    if (count == 0) {
        SSL_CTX_set_options(server->context, SSL_OP_NO_TICKET);
        SSL_CTX_set_session_cache_mode(server->context, SSL_SESS_CACHE_OFF);
    }
    return SSL_CTX_set_num_tickets(server->context, count) == 1;
}

int ctt_server_set_ocsp_response(ctt_server *server, const uint8_t *response, size_t count) {
    server->ocsp_response = OPENSSL_memdup(response, count);
    server->ocsp_count = count;
    if (server->ocsp_response == NULL) return 0;
    SSL_CTX_set_tlsext_status_cb(server->context, staple);
    SSL_CTX_set_tlsext_status_arg(server->context, server);
    return 1;
}

// MARK: Connections

ctt_session *ctt_session_create(ctt_server *server) {
    ctt_session *session = calloc(1, sizeof *session);
    if (session == NULL) return NULL;
    session->ssl = SSL_new(server->context);
    session->from_client = BIO_new(BIO_s_mem());
    session->to_client = BIO_new(BIO_s_mem());
    if (!session->ssl || !session->from_client || !session->to_client) {
        BIO_free(session->from_client);
        BIO_free(session->to_client);
        SSL_free(session->ssl);
        free(session);
        return NULL;
    }
    SSL_set_bio(session->ssl, session->from_client, session->to_client);
    SSL_set_accept_state(session->ssl);
    return session;
}

void ctt_session_free(ctt_session *session) {
    if (session == NULL) return;
    SSL_free(session->ssl);
    free(session);
}

int ctt_session_receive(ctt_session *session, const uint8_t *bytes, size_t count) {
    size_t written = 0;
    return BIO_write_ex(session->from_client, bytes, count, &written) == 1 && written == count;
}

size_t ctt_session_take(ctt_session *session, uint8_t *buffer, size_t capacity) {
    size_t count = 0;
    return BIO_read_ex(session->to_client, buffer, capacity, &count) == 1 ? count : 0;
}

static ctt_result result_of(ctt_session *session, int returned) {
    if (returned > 0) return CTT_DONE;
    switch (SSL_get_error(session->ssl, returned)) {
    case SSL_ERROR_WANT_READ: return CTT_WANTS_INPUT;
    case SSL_ERROR_ZERO_RETURN: return CTT_CLOSED;
    default: return CTT_FAILED;
    }
}

ctt_result ctt_session_handshake(ctt_session *session) {
    ERR_clear_error();
    return result_of(session, SSL_do_handshake(session->ssl));
}

ctt_result ctt_session_read(ctt_session *session, uint8_t *buffer, size_t capacity, size_t *count) {
    ERR_clear_error();
    return result_of(session, SSL_read_ex(session->ssl, buffer, capacity, count));
}

ctt_result ctt_session_write(ctt_session *session, const uint8_t *bytes, size_t count) {
    size_t written = 0;
    ERR_clear_error();
    return result_of(session, SSL_write_ex(session->ssl, bytes, count, &written));
}

void ctt_session_close_notify(ctt_session *session) {
    ERR_clear_error();
    SSL_shutdown(session->ssl);
}

int ctt_session_request_certificate(ctt_session *session) {
    ERR_clear_error();
    return SSL_verify_client_post_handshake(session->ssl) == 1 && SSL_do_handshake(session->ssl) == 1;
}

int ctt_session_update_key(ctt_session *session) {
    ERR_clear_error();
    return SSL_key_update(session->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 && SSL_do_handshake(session->ssl) == 1;
}

int ctt_session_renegotiate(ctt_session *session) {
    ERR_clear_error();
    return SSL_renegotiate(session->ssl) == 1 && SSL_do_handshake(session->ssl) == 1;
}

const char *ctt_session_version(const ctt_session *session) {
    return SSL_get_version(session->ssl);
}

const char *ctt_session_cipher(const ctt_session *session) {
    return SSL_get_cipher_name(session->ssl);
}

const char *ctt_session_server_name(const ctt_session *session) {
    return SSL_get_servername(session->ssl, TLSEXT_NAMETYPE_host_name);
}

size_t ctt_session_protocol(const ctt_session *session, uint8_t *buffer, size_t capacity) {
    const uint8_t *protocol = NULL;
    unsigned count = 0;
    SSL_get0_alpn_selected(session->ssl, &protocol, &count);
    if (protocol == NULL || count > capacity) return 0;
    memcpy(buffer, protocol, count);
    return count;
}

int ctt_session_was_resumed(const ctt_session *session) {
    return SSL_session_reused(session->ssl);
}

ctt_bytes ctt_session_client_certificate(const ctt_session *session) {
    X509 *certificate = SSL_get0_peer_certificate(session->ssl);
    ctt_bytes out = {NULL, 0};
    if (certificate == NULL) return out;
    int count = i2d_X509(certificate, &out.bytes);
    out.count = count > 0 ? (size_t)count : 0;
    return out;
}
