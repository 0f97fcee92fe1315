#include "CLoadingTLS.h"

#include "callbacks.h"
#include "failure.h"
#include "openssl.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

size_t clt_address(const char *text, uint8_t address[16]) {
    if (inet_pton(AF_INET, text, address) == 1) return 4;
    if (inet_pton(AF_INET6, text, address) == 1) return 16;
    return 0;
}

// Whether `tls_ciphersuite_t` has a name for it. Those of TLS 1.3 are chosen apart.
static bool is_known(uint16_t suite) {
    switch (suite) {
    case 0x000a: case 0x002f: case 0x0035: case 0x003c: case 0x003d: case 0x009c: case 0x009d:
    case 0xc008: case 0xc009: case 0xc00a: case 0xc012: case 0xc013: case 0xc014: case 0xc023: case 0xc024: case 0xc027:
    case 0xc028: case 0xc02b: case 0xc02c: case 0xc02f: case 0xc030: case 0xcca8: case 0xcca9:
        return true;
    default: return false;
    }
}

// Appends a name to a list, which stays as it is if there is no room.
static bool append_name(char *list, size_t size, const char *name) {
    size_t length = strlen(list);
    int written = snprintf(list + length, size - length, "%s%s", length > 0 ? ":" : "", name);
    if (written >= 0 && (size_t)written < size - length) return true;
    list[length] = 0;
    return false;
}

// Offers those cipher suites of OpenSSL's configuration that have a name here. Finite-field Diffie-Hellman has none, because
// other clients do not offer it any more.
static bool offer_known(SSL_CTX *context) {
    const STACK_OF(SSL_CIPHER) *suites = SSL_CTX_get_ciphers(context);
    char list[4096] = "";
    for (int index = 0; index < sk_SSL_CIPHER_num(suites); index++) {
        const SSL_CIPHER *suite = sk_SSL_CIPHER_value(suites, index);
        if (!is_known(SSL_CIPHER_get_protocol_id(suite))) continue;
        if (!append_name(list, sizeof list, SSL_CIPHER_get_name(suite))) break;
    }
    // Where none has one, what there is stays.
    return list[0] == 0 || SSL_CTX_set_cipher_list(context, list) == 1;
}

// Prefers AES with 128 bits in TLS 1.3, as Apple's systems do, where OpenSSL prefers 256: it costs less for each octet. The suites are
// those of OpenSSL's configuration, and the others keep their order.
static bool prefer_short_keys(SSL_CTX *context) {
    const STACK_OF(SSL_CIPHER) *suites = SSL_CTX_get_ciphers(context);
    char list[1024] = "";
    for (int others = 0; others < 2; others++) {
        for (int index = 0; index < sk_SSL_CIPHER_num(suites); index++) {
            const SSL_CIPHER *suite = sk_SSL_CIPHER_value(suites, index);
            uint16_t number = SSL_CIPHER_get_protocol_id(suite);
            if (number >> 8 != 0x13 || (number == 0x1301) == others) continue;
            if (!append_name(list, sizeof list, SSL_CIPHER_get_name(suite))) return true;
        }
    }
    return list[0] == 0 || SSL_CTX_set_ciphersuites(context, list) == 1;
}

clt_context *clt_context_new(
    uint16_t minimum, uint16_t maximum, const uint8_t *protocols, size_t count, bool asks_later, clt_failure *failure) {
    ERR_clear_error();
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL) { *failure = clt_failure_take("no TLS context"); return NULL; }

    bool valid = SSL_CTX_set_min_proto_version(context, minimum) == 1
        && SSL_CTX_set_max_proto_version(context, maximum) == 1;
    // TLS 1.0 and 1.1 sign with SHA-1, which the default level forbids. A configuration that allows them must get them.
    if (minimum < TLS1_2_VERSION) SSL_CTX_set_security_level(context, 0);
    valid = valid && offer_known(context) && prefer_short_keys(context);
    if (count > 0) valid = valid && count <= UINT16_MAX
        && SSL_CTX_set_alpn_protos(context, protocols, (unsigned)count) == 0;
    if (!valid) {
        *failure = clt_failure_take("invalid TLS configuration");
        SSL_CTX_free(context);
        return NULL;
    }

    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(context,
        SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL
        | SSL_SESS_CACHE_NO_AUTO_CLEAR);
    SSL_CTX_sess_set_new_cb(context, clt_on_session);
    SSL_CTX_set_msg_callback(context, clt_on_message);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_cert_verify_callback(context, clt_on_verify, NULL);
    SSL_CTX_set_cert_cb(context, clt_on_certificate_request, NULL);
    SSL_CTX_set_tlsext_status_type(context, TLSEXT_STATUSTYPE_ocsp);
    SSL_CTX_set_post_handshake_auth(context, asks_later);
    return context;
}

void clt_context_free(clt_context *context) { SSL_CTX_free(context); }

void clt_context_log_secrets(clt_context *context, void (*log)(const clt_ssl *ssl, const char *line)) {
    SSL_CTX_set_keylog_callback(context, log);
}
