// A certificate authority and a certificate of its own for each start, and TLS 1.3 with one cipher.
#ifndef BENCH_SERVER_TLS_H
#define BENCH_SERVER_TLS_H

#include <openssl/ssl.h>

/// Writes the authority into the hashed directory `directory`/certs and returns a context that serves 127.0.0.1, ::1
/// and localhost with a certificate signed by it. `directory` must exist. Returns NULL after printing what failed.
SSL_CTX *tls_make_context(const char *directory);

#endif
