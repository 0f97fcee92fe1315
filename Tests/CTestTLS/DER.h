// What the two C files share.

#ifndef C_TEST_TLS_DER_H
#define C_TEST_TLS_DER_H

#if defined(__has_include) && !__has_include(<openssl/ssl.h>)
#error "OpenSSL's headers are missing: install libssl-dev (Debian, Ubuntu) or openssl-devel (Fedora)"
#endif

#include <openssl/x509.h>
#include <stdint.h>

EVP_PKEY *ctt_parse_key(const uint8_t *bytes, size_t count);
X509 *ctt_parse_certificate(const uint8_t *bytes, size_t count);

#endif
