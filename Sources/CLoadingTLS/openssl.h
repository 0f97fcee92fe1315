// OpenSSL, for every file of this module: include this instead of OpenSSL's own headers.
//
// Its libraries take a program 2 ms to start with, used or not, since all of their own symbols are bound at once. So they
// are not linked but loaded with the first call: each function that is called here is called by a name of our own, behind
// which openssl.S jumps to the real one.
#ifndef CLT_OPENSSL_H
#define CLT_OPENSSL_H

#if defined(__has_include) && !__has_include(<openssl/ssl.h>)
#error "OpenSSL's headers are missing: install libssl-dev (Debian, Ubuntu) or openssl-devel (Fedora)"
#endif

#ifndef CLT_NO_FUNCTIONS
#define CLT_PRAGMA(text) _Pragma(#text)
#define FUNCTION(name) CLT_PRAGMA(redefine_extname name clt_openssl_##name)
#include "openssl_functions.h"
#undef FUNCTION
#endif

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#endif
