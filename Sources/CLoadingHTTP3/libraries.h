// ngtcp2, its crypto helper, nghttp3 and GnuTLS, for every file of this module: include this instead of their headers.
//
// Linking GnuTLS costs a program milliseconds at start, even if it is not used. So the libraries are loaded when
// a session is made: each function that is called here is called by a name of our own, behind which libraries.S jumps to
// the real one. Nothing is called before `cl3_load` has succeeded.
#ifndef CL3_LIBRARIES_H
#define CL3_LIBRARIES_H

#include "versions.h"

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
