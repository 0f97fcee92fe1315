// Certificates and the server's side of TLS for tests, over OpenSSL 3.
//
// Everything crosses this border as DER bytes or as an opaque pointer, so no OpenSSL type is seen by Swift and a
// certificate is a plain value there. TLS runs over memory only: the caller moves the bytes between a session and
// its socket, which lets a test see and bend what goes over the wire.

#ifndef C_TEST_TLS_H
#define C_TEST_TLS_H

#include "CTestPOSIX.h"

#include <stddef.h>
#include <stdint.h>

/// Bytes allocated here; give them back with `ctt_bytes_free`.
typedef struct {
    uint8_t *bytes;
    size_t count;
} ctt_bytes;

void ctt_bytes_free(ctt_bytes bytes);

/// Writes the newest OpenSSL error of this thread as text, and forgets all of them.
void ctt_take_error(char *buffer, size_t capacity);

// Keys: PKCS #8 DER. Return 1 for success, 0 for failure.

int ctt_make_elliptic_key(const char *curve, ctt_bytes *key);
int ctt_make_rsa_key(unsigned bits, ctt_bytes *key);
/// Ed25519.
int ctt_make_edwards_key(ctt_bytes *key);

// Certificates.

typedef struct ctt_builder ctt_builder;

enum { CTT_NAME_DNS = 0, CTT_NAME_IP = 1, CTT_NAME_URI = 2, CTT_NAME_MAIL = 3 };

ctt_builder *ctt_builder_create(void);
void ctt_builder_free(ctt_builder *builder);
/// The bytes may hold anything, a zero byte included.
int ctt_builder_set_common_name(ctt_builder *builder, const uint8_t *bytes, size_t count);
/// Seconds since 1970.
int ctt_builder_set_validity(ctt_builder *builder, int64_t not_before, int64_t not_after);
int ctt_builder_add_name(ctt_builder *builder, int kind, const uint8_t *bytes, size_t count);
/// 1, 2 or 3; below 3 it has no extensions.
int ctt_builder_set_version(ctt_builder *builder, int version);
/// An authority may sign certificates; a negative path length sets no limit.
int ctt_builder_set_authority(ctt_builder *builder, int is_authority, int path_length);
int ctt_builder_add_purpose(ctt_builder *builder, const char *object_identifier);
/// By OpenSSL's name, or a number, and in its notation: `nameConstraints`, `critical,permitted;DNS:a.example`. At most
/// eight; `keyUsage` and `basicConstraints` take the place of the usual ones, and leave them out if the value is empty.
int ctt_builder_add_extension(ctt_builder *builder, const char *name, const char *value);
/// Without an issuer (null) the certificate is self-signed.
int ctt_builder_sign(ctt_builder *builder, const uint8_t *key, size_t key_count, const uint8_t *issuer,
                     size_t issuer_count, const uint8_t *issuer_key, size_t issuer_key_count, const char *digest,
                     ctt_bytes *certificate);

// PKCS #12.

typedef struct ctt_chain ctt_chain;

ctt_chain *ctt_chain_create(void);
void ctt_chain_free(ctt_chain *chain);
int ctt_chain_append(ctt_chain *chain, const uint8_t *certificate, size_t count);
int ctt_make_pkcs12(const char *password, const char *friendly_name, const uint8_t *certificate,
                    size_t certificate_count, const uint8_t *key, size_t key_count, const ctt_chain *chain,
                    ctt_bytes *archive);

// OCSP: a stapled response for one certificate, signed by its issuer.

enum { CTT_OCSP_GOOD = 0, CTT_OCSP_REVOKED = 1, CTT_OCSP_UNKNOWN = 2 };

int ctt_make_ocsp_response(int status, int64_t this_update, int64_t next_update, const uint8_t *certificate,
                           size_t certificate_count, const uint8_t *issuer, size_t issuer_count,
                           const uint8_t *issuer_key, size_t issuer_key_count, ctt_bytes *response);

// The server's configuration, shared by its connections so that sessions can be resumed.

typedef struct ctt_server ctt_server;

enum { CTT_CLIENT_CERTIFICATE_IGNORED = 0, CTT_CLIENT_CERTIFICATE_ASKED = 1, CTT_CLIENT_CERTIFICATE_REQUIRED = 2 };

/// Weak keys, digests and protocol versions are allowed: refusing them is the client's duty, and what tests look for.
ctt_server *ctt_server_create(const uint8_t *certificate, size_t certificate_count, const uint8_t *key,
                              size_t key_count);
void ctt_server_free(ctt_server *server);
/// A certificate that is sent after the server's own.
int ctt_server_add_chain(ctt_server *server, const uint8_t *certificate, size_t count);
/// Wire numbers: 0x0301 is TLS 1.0, 0x0304 is TLS 1.3.
int ctt_server_set_versions(ctt_server *server, int minimum, int maximum);
/// Shows no certificate: TLS 1.2 with anonymous suites.
int ctt_server_withhold_certificate(ctt_server *server);
/// OpenSSL's notation; for TLS 1.2 and below.
int ctt_server_set_ciphers(ctt_server *server, const char *ciphers);
/// The list as in the ALPN extension. Without a common protocol the handshake goes on without one, or fails.
int ctt_server_set_protocols(ctt_server *server, const uint8_t *list, size_t count, int must_agree);
/// With `accept_any` the client's certificate is taken whoever signed it.
int ctt_server_set_client_certificate(ctt_server *server, int policy, int accept_any);
/// Named in the certificate request, and trusted.
int ctt_server_add_client_authority(ctt_server *server, const uint8_t *certificate, size_t count);
/// Zero sends no ticket, and no session can be resumed.
int ctt_server_set_tickets(ctt_server *server, unsigned count);
int ctt_server_set_ocsp_response(ctt_server *server, const uint8_t *response, size_t count);

// One connection.

typedef struct ctt_session ctt_session;

typedef enum {
    CTT_FAILED = -1,
    CTT_WANTS_INPUT = 0,
    CTT_DONE = 1,
    /// The client sent close_notify.
    CTT_CLOSED = 2,
} ctt_result;

ctt_session *ctt_session_create(ctt_server *server);
void ctt_session_free(ctt_session *session);
/// Bytes that came from the client.
int ctt_session_receive(ctt_session *session, const uint8_t *bytes, size_t count);
/// Takes bytes that are to go to the client; 0 when there are none.
size_t ctt_session_take(ctt_session *session, uint8_t *buffer, size_t capacity);
ctt_result ctt_session_handshake(ctt_session *session);
ctt_result ctt_session_read(ctt_session *session, uint8_t *buffer, size_t capacity, size_t *count);
ctt_result ctt_session_write(ctt_session *session, const uint8_t *bytes, size_t count);
/// Makes the close_notify alert.
void ctt_session_close_notify(ctt_session *session);
/// TLS 1.3 post-handshake authentication: asks for a certificate on the open connection.
int ctt_session_request_certificate(ctt_session *session);
// Sends a key update (RFC 8446 §4.6.3).
int ctt_session_update_key(ctt_session *session);
/// Sends a HelloRequest (RFC 5246 section 7.4.1.1).
int ctt_session_renegotiate(ctt_session *session);

const char *ctt_session_version(const ctt_session *session);
const char *ctt_session_cipher(const ctt_session *session);
/// Null when the client named none.
const char *ctt_session_server_name(const ctt_session *session);
/// Zero when none was agreed on.
size_t ctt_session_protocol(const ctt_session *session, uint8_t *buffer, size_t capacity);
int ctt_session_was_resumed(const ctt_session *session);
/// Empty when the client sent none.
ctt_bytes ctt_session_client_certificate(const ctt_session *session);

#endif
