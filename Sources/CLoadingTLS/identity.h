#ifndef CLT_IDENTITY_H
#define CLT_IDENTITY_H

#include "openssl.h"

// A certificate, its private key, and the certificates between it and a root (may be NULL).
struct clt_identity {
    X509 *leaf;
    EVP_PKEY *key;
    STACK_OF(X509) *intermediates;
};

#endif
