// The server's side of TLS for tests, with certificates that are made for each name: over OpenSSL 3, which is loaded when it is needed.
//
// A stream may be used by one thread at a time, an authority by many.

#ifndef C_LOADING_TEST_TLS_H
#define C_LOADING_TEST_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// A made-up certificate authority.
typedef struct cltt_authority cltt_authority;

/// NULL if OpenSSL is missing or fails; `cltt_failure` has the reason.
///
/// `names` are added to those of each certificate, as OpenSSL writes them, each after a comma: ",IP:192.0.2.1".
cltt_authority *cltt_authority_create(const char *names);
void cltt_authority_free(cltt_authority *authority);
/// The authority's own certificate in DER. Returns its length; at most `capacity` bytes are written.
size_t cltt_authority_certificate(cltt_authority *authority, uint8_t *buffer, size_t capacity);
/// Of the calling thread's last failure.
const char *cltt_failure(void);

/// What is wrong with the certificate of a server.
enum { CLTT_VALID = 0, CLTT_EXPIRED = 1, CLTT_WRONG_HOST = 2, CLTT_UNTRUSTED = 3 };

typedef struct cltt_stream cltt_stream;

/// Makes the handshake on a connected socket that blocks, and that stays the caller's. The certificate is for the name that the client
/// asks for, for 127.0.0.1, ::1 and localhost, and for the names of the authority. NULL if it fails.
cltt_stream *cltt_accept(cltt_authority *authority, int descriptor, int fault, bool offers_http2);
/// Without the socket.
void cltt_stream_free(cltt_stream *stream);
/// Whether the client has chosen HTTP/2.
bool cltt_is_http2(const cltt_stream *stream);

/// The socket does not block, and is not ready.
enum { CLTT_LATER = -1 };

/// The number of bytes; 0 at the end, or CLTT_LATER.
ssize_t cltt_read(cltt_stream *stream, uint8_t *buffer, size_t count);
/// The number of bytes; 0 if the client has gone, or CLTT_LATER: then the same bytes have to be written.
ssize_t cltt_write(cltt_stream *stream, const uint8_t *bytes, size_t count);
/// Sends close_notify.
void cltt_close(cltt_stream *stream);

#endif
