// The functions of OpenSSL that are used, by the prototypes of its headers. No library is linked.

#ifndef C_LOADING_TEST_TLS_OPENSSL_H
#define C_LOADING_TEST_TLS_OPENSSL_H

#if defined(__has_include) && !__has_include(<openssl/ssl.h>)
#error "OpenSSL's headers are missing: install libssl-dev (Debian, Ubuntu) or openssl-devel (Fedora)"
#endif

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <stdbool.h>

#define CLTT_FUNCTIONS(use) \
    use(ASN1_INTEGER_set_uint64) use(ERR_clear_error) use(ERR_error_string_n) use(ERR_peek_last_error) \
    use(EVP_PKEY_Q_keygen) use(EVP_PKEY_free) use(EVP_sha256) use(OPENSSL_init_crypto) use(SSL_CTX_free) use(SSL_CTX_new) \
    use(SSL_CTX_set_alpn_select_cb) use(SSL_CTX_set_cert_cb) use(SSL_accept) use(SSL_free) \
    use(SSL_get_error) use(SSL_get_servername) use(SSL_new) use(SSL_read) use(SSL_set_fd) use(SSL_shutdown) \
    use(SSL_use_PrivateKey) use(SSL_use_certificate) use(SSL_write) use(TLS_server_method) use(X509V3_EXT_conf_nid) \
    use(X509V3_set_ctx) use(X509_EXTENSION_free) use(X509_NAME_add_entry_by_txt) use(X509_add_ext) use(X509_free) \
    use(X509_get_serialNumber) use(X509_get_subject_name) use(X509_getm_notAfter) use(X509_getm_notBefore) \
    use(X509_gmtime_adj) use(X509_new) use(X509_set_issuer_name) use(X509_set_pubkey) use(X509_set_version) use(X509_sign) \
    use(i2d_X509)

#define CLTT_DECLARE(name) __typeof__(name) *name;
/// The functions, by their own names.
struct cltt_openssl { CLTT_FUNCTIONS(CLTT_DECLARE) };
#undef CLTT_DECLARE

/// NULL if the library is missing.
const struct cltt_openssl *cltt_openssl(void);
/// Keeps the reason for `cltt_failure`.
void cltt_set_failure(const char *reason);
/// Keeps OpenSSL's last error.
void cltt_keep_error(const struct cltt_openssl *ssl);

#endif
