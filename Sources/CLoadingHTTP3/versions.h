// Whether the headers of ngtcp2, its crypto helper, nghttp3 and GnuTLS are there, and of which versions: for C and for the
// assembler, so there is nothing but the preprocessor's here.
#ifndef CL3_VERSIONS_H
#define CL3_VERSIONS_H

#if defined(__has_include)
#if !__has_include(<ngtcp2/version.h>) || !__has_include(<ngtcp2/ngtcp2_crypto_gnutls.h>)
#error "ngtcp2's headers are missing: install libngtcp2-dev and libngtcp2-crypto-gnutls-dev (Debian), or do without the package trait HTTP3"
#endif
#if !__has_include(<nghttp3/version.h>)
#error "nghttp3's headers are missing: install libnghttp3-dev (Debian), or do without the package trait HTTP3"
#endif
#if !__has_include(<gnutls/gnutls.h>)
#error "GnuTLS's headers are missing: install libgnutls28-dev (Debian), or do without the package trait HTTP3"
#endif
#endif

#include <ngtcp2/version.h>
#include <nghttp3/version.h>

#if NGTCP2_VERSION_NUM != 0x000c01 && NGTCP2_VERSION_NUM < 0x010000
#error "of the versions of ngtcp2 before 1.0 only 0.12.1 is known here"
#endif

// 1 if the version has a stable interface (1.0 and later).
#define CL3_NGTCP2_IS_STABLE (NGTCP2_VERSION_NUM >= 0x010000)
#define CL3_NGHTTP3_IS_STABLE (NGHTTP3_VERSION_NUM >= 0x010000)

#endif
