#define _GNU_SOURCE
#include "authority.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A day before now, since clocks differ a little.
enum { DAY = 86400 };

static bool add_extension(const struct cltt_openssl *ssl, X509 *certificate, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context = { 0 };
    ssl->X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = ssl->X509V3_EXT_conf_nid(NULL, &context, nid, value);
    if (extension == NULL) return false;
    const bool is_added = ssl->X509_add_ext(certificate, extension, -1) == 1;
    ssl->X509_EXTENSION_free(extension);
    return is_added;
}

/// A version 3 certificate with a name and a validity, not signed.
static X509 *new_certificate(const struct cltt_openssl *ssl, EVP_PKEY *key, const char *name, uint64_t serial, long from, long to) {
    X509 *certificate = ssl->X509_new();
    if (certificate == NULL) return NULL;
    X509_NAME *subject = ssl->X509_get_subject_name(certificate);
    if (ssl->X509_set_version(certificate, 2) == 1
        && ssl->ASN1_INTEGER_set_uint64(ssl->X509_get_serialNumber(certificate), serial) == 1
        && ssl->X509_gmtime_adj(ssl->X509_getm_notBefore(certificate), from) != NULL
        && ssl->X509_gmtime_adj(ssl->X509_getm_notAfter(certificate), to) != NULL
        && ssl->X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0) == 1
        && ssl->X509_set_pubkey(certificate, key) == 1)
        return certificate;
    ssl->X509_free(certificate);
    return NULL;
}

static bool make_root(const struct cltt_openssl *ssl, cltt_authority *authority) {
    authority->key = ssl->EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    if (authority->key == NULL) return false;
    authority->certificate =
        new_certificate(ssl, authority->key, "URLLoadingTesting", 1, -DAY, 3650L * DAY);
    X509 *root = authority->certificate;
    return root != NULL
        && ssl->X509_set_issuer_name(root, ssl->X509_get_subject_name(root)) == 1
        && add_extension(ssl, root, root, NID_basic_constraints, "critical,CA:TRUE")
        && add_extension(ssl, root, root, NID_key_usage, "critical,keyCertSign,cRLSign")
        && add_extension(ssl, root, root, NID_subject_key_identifier, "hash")
        && ssl->X509_sign(root, authority->key, ssl->EVP_sha256()) > 0;
}

cltt_authority *cltt_authority_create(const char *names) {
    const struct cltt_openssl *ssl = cltt_openssl();
    if (ssl == NULL) return NULL;
    cltt_authority *authority = calloc(1, sizeof *authority);
    if (authority == NULL) return NULL;
    authority->serial = 1;
    authority->names = strdup(names);
    authority->server_key = ssl->EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    if (authority->names != NULL && authority->server_key != NULL && make_root(ssl, authority)) return authority;
    cltt_keep_error(ssl);
    cltt_authority_free(authority);
    return NULL;
}

void cltt_authority_free(cltt_authority *authority) {
    const struct cltt_openssl *ssl = cltt_openssl();
    if (authority == NULL || ssl == NULL) return;
    ssl->X509_free(authority->certificate);
    ssl->EVP_PKEY_free(authority->key);
    ssl->EVP_PKEY_free(authority->server_key);
    free(authority->names);
    free(authority);
}

size_t cltt_authority_certificate(cltt_authority *authority, uint8_t *buffer, size_t capacity) {
    const struct cltt_openssl *ssl = cltt_openssl();
    const int length = ssl == NULL ? 0 : ssl->i2d_X509(authority->certificate, NULL);
    if (length <= 0) return 0;
    if ((size_t)length <= capacity) ssl->i2d_X509(authority->certificate, &buffer);
    return (size_t)length;
}

/// Whether a name can be part of a certificate's list of names as it is.
static bool is_host_name(const char *name) {
    const size_t length = strlen(name);
    return length > 0 && length < 254
        && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == length;
}

X509 *cltt_certificate(const struct cltt_openssl *ssl, cltt_authority *authority, const char *host, int fault) {
    char *names = NULL;
    const char *name = host != NULL && is_host_name(host) ? host : "localhost";
    if (fault == CLTT_WRONG_HOST)
        names = strdup("DNS:wrong-host.invalid");
    else if (asprintf(&names, "DNS:%s,DNS:localhost,IP:127.0.0.1,IP:::1%s", name, authority->names) < 0)
        names = NULL;
    if (names == NULL) return NULL;
    const bool is_expired = fault == CLTT_EXPIRED;
    // No serial number is used twice by one authority.
    const uint64_t serial = __atomic_add_fetch(&authority->serial, 1, __ATOMIC_RELAXED);
    X509 *certificate = new_certificate(
        ssl, authority->server_key, "URLLoadingTesting server", serial, is_expired ? -30L * DAY : -DAY, is_expired ? -DAY : 300L * DAY);
    X509 *root = authority->certificate;
    const bool is_made = certificate != NULL
        && ssl->X509_set_issuer_name(certificate, ssl->X509_get_subject_name(root)) == 1
        && add_extension(ssl, certificate, root, NID_basic_constraints, "critical,CA:FALSE")
        && add_extension(ssl, certificate, root, NID_key_usage, "critical,digitalSignature")
        && add_extension(ssl, certificate, root, NID_ext_key_usage, "serverAuth")
        && add_extension(ssl, certificate, root, NID_authority_key_identifier, "keyid")
        && add_extension(ssl, certificate, root, NID_subject_alt_name, names)
        && ssl->X509_sign(certificate, authority->key, ssl->EVP_sha256()) > 0;
    free(names);
    if (is_made) return certificate;
    ssl->X509_free(certificate);
    return NULL;
}
