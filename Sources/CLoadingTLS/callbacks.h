// What OpenSSL calls during and after a handshake. The first two answer from the decision that the stream holds, or
// suspend the handshake until there is one.
#ifndef CLT_CALLBACKS_H
#define CLT_CALLBACKS_H

#include "openssl.h"

int clt_on_verify(X509_STORE_CTX *verification, void *unused);
int clt_on_certificate_request(SSL *ssl, void *unused);
int clt_on_session(SSL *ssl, SSL_SESSION *session);
void clt_on_message(
    int is_written, int version, int type, const void *bytes, size_t count, SSL *ssl, void *unused);

#endif
