// ngtcp2, its crypto helper, nghttp3 and GnuTLS, for every file of this module: include this instead of their headers.
//
// GnuTLS and what it needs take a program milliseconds to start with, used or not. So they are not linked but loaded when
// a session is made: each function that is called here is called by a name of our own, behind which libraries.S jumps to
// the real one. Nothing is called before `cl3_load` has said that they are there.
#ifndef CL3_LIBRARIES_H
#define CL3_LIBRARIES_H

#if defined(__has_include) && !__has_include(<ngtcp2/ngtcp2_crypto_gnutls.h>)
#error "ngtcp2's headers are missing: install libngtcp2-dev and libngtcp2-crypto-gnutls-dev (Debian), or do without the package trait HTTP3"
#endif
#if defined(__has_include) && !__has_include(<nghttp3/nghttp3.h>)
#error "nghttp3's headers are missing: install libnghttp3-dev (Debian), or do without the package trait HTTP3"
#endif
#if defined(__has_include) && !__has_include(<gnutls/gnutls.h>)
#error "GnuTLS's headers are missing: install libgnutls28-dev (Debian), or do without the package trait HTTP3"
#endif

#include <ngtcp2/version.h>
#include <nghttp3/version.h>

#if NGTCP2_VERSION_NUM != 0x000c01 && NGTCP2_VERSION_NUM < 0x010000
#error "of the versions of ngtcp2 before 1.0 only 0.12.1 is known here"
#endif

// 1 if the version is one that keeps its promises (1.0 and later).
#define CL3_NGTCP2_IS_STABLE (NGTCP2_VERSION_NUM >= 0x010000)
#define CL3_NGHTTP3_IS_STABLE (NGHTTP3_VERSION_NUM >= 0x010000)

#ifndef CL3_NO_FUNCTIONS
#define CL3_PRAGMA(text) _Pragma(#text)
#define FUNCTION(name) CL3_PRAGMA(redefine_extname name cl3_library_##name)
#include "library_functions.h"
#undef FUNCTION
#endif

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <nghttp3/nghttp3.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#endif
