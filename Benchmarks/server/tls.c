#include "tls.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct identity {
    EVP_PKEY *key;
    X509 *certificate;
};

static int add_extension(X509 *certificate, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    if (!extension) return 0;
    int added = X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

/// P-256, as most of the web has: the handshake's price is part of the cold start.
static int make_identity(struct identity *identity, const char *name, long serial, const struct identity *issuer) {
    identity->key = EVP_EC_gen("P-256");
    identity->certificate = X509_new();
    X509 *certificate = identity->certificate;
    if (!identity->key || !certificate) return 0;
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -86400);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 30 * 86400L);
    X509_set_pubkey(certificate, identity->key);
    X509_NAME *subject = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    const struct identity *signer = issuer ? issuer : identity;
    X509_set_issuer_name(certificate, X509_get_subject_name(signer->certificate));
    int done = add_extension(certificate, signer->certificate, NID_subject_key_identifier, "hash");
    if (issuer) {
        done = done && add_extension(certificate, signer->certificate, NID_authority_key_identifier, "keyid") &&
               add_extension(certificate, signer->certificate, NID_key_usage, "critical,digitalSignature") &&
               add_extension(certificate, signer->certificate, NID_ext_key_usage, "serverAuth") &&
               add_extension(certificate, signer->certificate, NID_subject_alt_name,
                             "DNS:localhost,IP:127.0.0.1,IP:::1");
    } else {
        done = done && add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE") &&
               add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
    }
    return done && X509_sign(certificate, signer->key, EVP_sha256());
}

/// OpenSSL finds an authority in a directory by the hash of its name, as `openssl rehash` would link it.
static int publish_authority(X509 *authority, const char *directory) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/certs", directory);
    if (mkdir(path, 0755) != 0 && errno != EEXIST) return 0;
    snprintf(path, sizeof path, "%s/certs/benchmark-authority.pem", directory);
    FILE *file = fopen(path, "w");
    if (!file) return 0;
    int written = PEM_write_X509(file, authority);
    if (fclose(file) != 0 || !written) return 0;
    unsigned long hash = X509_NAME_hash_ex(X509_get_subject_name(authority), NULL, NULL, NULL);
    snprintf(path, sizeof path, "%s/certs/%08lx.0", directory, hash);
    unlink(path);
    return symlink("benchmark-authority.pem", path) == 0;
}

/// For the servers of HTTP/2 and HTTP/3, which take theirs from files.
static int publish_host(const struct identity *host, const char *directory) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/host.pem", directory);
    FILE *file = fopen(path, "w");
    if (!file) return 0;
    int written = PEM_write_X509(file, host->certificate);
    if (fclose(file) != 0 || !written) return 0;
    snprintf(path, sizeof path, "%s/host.key", directory);
    file = fopen(path, "w");
    if (!file) return 0;
    written = PEM_write_PrivateKey(file, host->key, NULL, NULL, 0, NULL, NULL);
    return fclose(file) == 0 && written;
}

SSL_CTX *tls_make_context(const char *directory) {
    struct identity authority = {0}, host = {0};
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    int done = context && make_identity(&authority, "Benchmark Authority", 1, NULL) &&
               make_identity(&host, "localhost", 2, &authority) &&
               publish_authority(authority.certificate, directory) && publish_host(&host, directory) &&
               SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) &&
               SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") &&
               SSL_CTX_use_certificate(context, host.certificate) && SSL_CTX_use_PrivateKey(context, host.key);
    X509_free(host.certificate);
    X509_free(authority.certificate);
    EVP_PKEY_free(host.key);
    EVP_PKEY_free(authority.key);
    if (!done) {
        fprintf(stderr, "server: cannot make a TLS identity in %s: %s\n", directory, strerror(errno));
        ERR_print_errors_fp(stderr);
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS);
    return context;
}
