// The server's side of TLS for simulated hosts, over OpenSSL, which the library uses too. The authority and the certificates of most hosts
// are the same in all worlds: they are made before worlds are forked.
#include "Kernel.h"
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>

// ---- the same random octets in each run: OpenSSL's own generator reads the processor's clock and the number of the process

static int random_bytes(unsigned char *bytes, int count) {
    for (int i = 0; i < count; i++) bytes[i] = (unsigned char)simulation_random(256);
    return 1;
}
static int random_status(void) { return 1; }

static void fix_randomness(void) {
    static const RAND_METHOD method = { .bytes = random_bytes, .pseudorand = random_bytes, .status = random_status };
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
    RAND_set_rand_method(&method);
#pragma clang diagnostic pop
}

// ---- certificates

static X509 *root;
static EVP_PKEY *root_key, *server_key;

static void require(bool condition, const char *what) {
    if (!condition) kernel_fail(simulation_stuck, "OpenSSL: %s", what);
}

static void add_extension(X509 *certificate, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    require(extension != NULL && X509_add_ext(certificate, extension, -1) == 1, value);
    X509_EXTENSION_free(extension);
}

// Valid as far as the wall clock can jump, and not longer than the 825 days that the library allows.
static X509 *new_certificate(const char *name, EVP_PKEY *key, bool is_expired) {
    static uint64_t serial;
    X509 *certificate = X509_new();
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), ++serial);
    ASN1_TIME_set_string(X509_getm_notBefore(certificate), is_expired ? "20240101000000Z" : "20241215000000Z");
    ASN1_TIME_set_string(X509_getm_notAfter(certificate), is_expired ? "20240601000000Z" : "20270115000000Z");
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0);
    require(X509_set_pubkey(certificate, key) == 1, "a public key");
    return certificate;
}

static void make_authority(void) {
    root_key = EVP_EC_gen("P-256");
    server_key = EVP_EC_gen("P-256");
    require(root_key != NULL && server_key != NULL, "a key");
    root = new_certificate("Simulation Root", root_key, false);
    X509_set_issuer_name(root, X509_get_subject_name(root));
    add_extension(root, root, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(root, root, NID_key_usage, "critical,keyCertSign,cRLSign");
    add_extension(root, root, NID_subject_key_identifier, "hash");
    require(X509_sign(root, root_key, EVP_sha256()) > 0, "a signature");
}

static X509 *server_certificate(const char *name, bool is_expired) {
    X509 *certificate = new_certificate("Simulation Server", server_key, is_expired);
    X509_set_issuer_name(certificate, X509_get_subject_name(root));
    char names[300];
    snprintf(names, sizeof names, "DNS:%s", name);
    add_extension(certificate, root, NID_basic_constraints, "critical,CA:FALSE");
    add_extension(certificate, root, NID_key_usage, "critical,digitalSignature");
    add_extension(certificate, root, NID_ext_key_usage, "serverAuth");
    add_extension(certificate, root, NID_authority_key_identifier, "keyid");
    add_extension(certificate, root, NID_subject_alt_name, names);
    require(X509_sign(certificate, root_key, EVP_sha256()) > 0, "a signature");
    return certificate;
}

// ---- what a host has in each world

static SSL_CTX *new_context(const char *name, bool is_expired) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    X509 *certificate = server_certificate(name, is_expired);
    require(SSL_CTX_use_certificate(context, certificate) == 1, "a certificate");
    require(SSL_CTX_use_PrivateKey(context, server_key) == 1, "a private key");
    X509_free(certificate);
    SSL_CTX_set_session_id_context(context, (const unsigned char *)"simulation", 10);
    return context;
}

static const char *certified_name(const char *name, simulation_tls_options options) {
    return options.has_wrong_name ? "wrong.example" : name;
}

enum { most_prepared = 16 };
static struct { const char *name; bool is_expired; SSL_CTX *context; } prepared[most_prepared];
static int prepared_count;

static SSL_CTX *take_prepared(const char *name, bool is_expired) {
    for (int i = 0; i < prepared_count; i++) {
        if (prepared[i].is_expired != is_expired || strcmp(prepared[i].name, name) != 0) continue;
        SSL_CTX *context = prepared[i].context;
        prepared[i] = prepared[--prepared_count];
        return context;
    }
    return NULL;
}

// ---- a host

struct simulation_tls_host {
    char *name;
    simulation_tls_options options;
    // NULL before the first connection: few of a world's hosts are asked.
    SSL_CTX *context;
};

static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered,
    unsigned count, void *argument) {
    (void)ssl;
    static const unsigned char both[] = "\x02h2\x08http/1.1";
    struct simulation_tls_host *host = argument;
    bool has_http2 = host->options.offers_http2;
    const unsigned char *own = has_http2 ? both : both + 3;
    unsigned own_length = sizeof both - 1 - (has_http2 ? 0 : 3);
    int found = SSL_select_next_proto((unsigned char **)chosen, length, own, own_length, offered, count);
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

simulation_tls_host *simulation_tls_host_new(const char *name, simulation_tls_options options) {
    simulation_tls_host *host = calloc(1, sizeof *host);
    host->name = strdup(name);
    host->options = options;
    return host;
}

static SSL_CTX *context_of(simulation_tls_host *host) {
    if (host->context != NULL) return host->context;
    const char *name = certified_name(host->name, host->options);
    SSL_CTX *context = take_prepared(name, host->options.is_expired);
    if (context == NULL) context = new_context(name, host->options.is_expired);
    if (host->options.is_old) SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_num_tickets(context, host->options.tickets);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, host);
    return host->context = context;
}

static char *text_of(BIO *bio) {
    char *bytes;
    long count = BIO_get_mem_data(bio, &bytes);
    char *text = strndup(bytes, (size_t)count);
    BIO_free(bio);
    return text;
}

void kernel_tls_identity(simulation_tls_host *host, char **certificate, char **key) {
    BIO *certificate_file = BIO_new(BIO_s_mem()), *key_file = BIO_new(BIO_s_mem());
    require(PEM_write_bio_X509(certificate_file, SSL_CTX_get0_certificate(context_of(host))) == 1, "a certificate");
    require(PEM_write_bio_PrivateKey(key_file, server_key, NULL, NULL, 0, NULL, NULL) == 1, "a private key");
    *certificate = text_of(certificate_file);
    *key = text_of(key_file);
}

// ---- a connection

struct simulation_tls { SSL *ssl; BIO *in, *out; };

simulation_tls *simulation_tls_new(simulation_tls_host *host) {
    simulation_tls *tls = calloc(1, sizeof *tls);
    tls->ssl = SSL_new(context_of(host));
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    // An empty one is not the end.
    BIO_set_mem_eof_return(tls->in, -1);
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    SSL_set_accept_state(tls->ssl);
    return tls;
}

void simulation_tls_free(simulation_tls *tls) {
    SSL_free(tls->ssl);
    free(tls);
}

void simulation_tls_receive(simulation_tls *tls, const uint8_t *bytes, int64_t count) {
    BIO_write(tls->in, bytes, (int)count);
    ERR_clear_error();
    if (!SSL_is_init_finished(tls->ssl)) SSL_do_handshake(tls->ssl);
}

bool simulation_tls_is_ready(simulation_tls *tls) { return SSL_is_init_finished(tls->ssl) == 1; }

bool simulation_tls_is_http2(simulation_tls *tls) {
    const unsigned char *chosen;
    unsigned length;
    SSL_get0_alpn_selected(tls->ssl, &chosen, &length);
    return length == 2;
}

int64_t simulation_tls_read(simulation_tls *tls, uint8_t *buffer, int64_t capacity) {
    // SSL_get_error would return one of another connection.
    ERR_clear_error();
    int count = SSL_read(tls->ssl, buffer, (int)capacity);
    if (count > 0) return count;
    switch (SSL_get_error(tls->ssl, count)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return 0;
    default: return -1;
    }
}

void simulation_tls_write(simulation_tls *tls, const uint8_t *bytes, int64_t count) {
    if (count > 0) SSL_write(tls->ssl, bytes, (int)count);
}

void simulation_tls_close(simulation_tls *tls) { SSL_shutdown(tls->ssl); }

int64_t simulation_tls_take(simulation_tls *tls, uint8_t *buffer, int64_t capacity) {
    int count = BIO_read(tls->out, buffer, (int)capacity);
    return count > 0 ? count : 0;
}

void simulation_digest(const char *algorithm, const char *text, char *digest) {
    uint8_t bytes[EVP_MAX_MD_SIZE];
    unsigned count = 0;
    require(EVP_Digest(text, strlen(text), bytes, &count, EVP_get_digestbyname(algorithm), NULL) == 1, algorithm);
    for (unsigned i = 0; i < count; i++) snprintf(digest + 2 * i, 3, "%02x", bytes[i]);
}

// ---- what OpenSSL loads and looks up once in a process

static void shake_hands(simulation_tls_host *host, int version) {
    simulation_tls *server = simulation_tls_new(host);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_max_proto_version(context, version);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), root);
    SSL *client = SSL_new(context);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    SSL_set_bio(client, in, out);
    SSL_set_connect_state(client);
    SSL_set_verify(client, SSL_VERIFY_PEER, NULL);
    uint8_t buffer[16384];
    for (int round = 0; round < 4; round++) {
        SSL_do_handshake(client);
        int count = BIO_read(out, buffer, sizeof buffer);
        if (count > 0) simulation_tls_receive(server, buffer, count);
        count = (int)simulation_tls_take(server, buffer, sizeof buffer);
        if (count > 0) BIO_write(in, buffer, count);
    }
    require(SSL_is_init_finished(client) && simulation_tls_is_ready(server), "a handshake");
    SSL_free(client);
    SSL_CTX_free(context);
    simulation_tls_free(server);
}

void simulation_tls_prepare(const char *path) {
    fix_randomness();
    make_authority();
    BIO *file = BIO_new_file(path, "w");
    require(file != NULL && PEM_write_bio_X509(file, root) == 1, path);
    BIO_free(file);
    simulation_tls_host *host = simulation_tls_host_new("host.example", (simulation_tls_options){ .tickets = 1 });
    shake_hands(host, TLS1_3_VERSION);
    shake_hands(host, TLS1_2_VERSION);
    char digest[129];
    simulation_digest("MD5", "", digest);
}

void simulation_tls_prepare_host(const char *name, simulation_tls_options options) {
    require(prepared_count < most_prepared, "too many hosts are prepared");
    const char *certified = certified_name(name, options);
    prepared[prepared_count].name = strdup(certified);
    prepared[prepared_count].is_expired = options.is_expired;
    prepared[prepared_count++].context = new_context(certified, options.is_expired);
}
