#ifndef C_LOADING_TEST_TLS_AUTHORITY_H
#define C_LOADING_TEST_TLS_AUTHORITY_H

#include "CLoadingTestTLS.h"
#include "openssl.h"

struct cltt_authority {
    EVP_PKEY *key;
    X509 *certificate;
    /// Of all servers.
    EVP_PKEY *server_key;
    uint64_t serial;
    char *names;
};

/// A server's certificate for a name, which may be NULL. Owned by the caller; NULL after a failure.
X509 *cltt_certificate(const struct cltt_openssl *ssl, cltt_authority *authority, const char *host, int fault);

#endif
