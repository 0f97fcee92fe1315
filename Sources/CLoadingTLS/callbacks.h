// What OpenSSL calls in the middle of a handshake. Each answers from the decision that the stream holds, or suspends
// the handshake until there is one.
#ifndef CLT_CALLBACKS_H
#define CLT_CALLBACKS_H

#include "openssl.h"

int clt_on_verify(X509_STORE_CTX *verification, void *unused);
int clt_on_certificate_request(SSL *ssl, void *unused);
int clt_on_session(SSL *ssl, SSL_SESSION *session);

#endif
