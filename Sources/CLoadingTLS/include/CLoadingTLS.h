// OpenSSL 3 behind plain functions: its macros, callbacks and stack types stay in C, so that Swift imports no header of
// OpenSSL. Nothing here owns a descriptor, reads a clock or blocks. Functions that may fail return NULL or a
// `clt_step` and leave the cause where `clt_stream_failure` or an out parameter finds it.
#ifndef C_LOADING_TLS_H
#define C_LOADING_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ssl_ctx_st clt_context;
typedef struct ssl_st clt_ssl;
typedef struct ssl_session_st clt_session;
typedef struct x509_store_st clt_roots;
typedef struct stack_st_X509 clt_chain;
typedef struct clt_identity clt_identity;
typedef struct x509_st clt_certificate;
typedef struct stack_st_GENERAL_NAME clt_names;
typedef struct evp_pkey_st clt_key;
typedef struct clt_stream clt_stream;
typedef struct evp_md_ctx_st clt_digest;

// ---- outcomes

typedef enum {
    CLT_DONE,
    CLT_WANT_READ,
    CLT_WANT_WRITE,
    CLT_WANT_TRUST,
    CLT_WANT_IDENTITY,
    CLT_CLOSED,  // the peer sent close_notify
    CLT_ENDED,   // the peer ended the TCP stream without close_notify
    CLT_FAILED,
} clt_step;

// Why something failed. `reason` is one of OpenSSL's own constant texts, or one of ours: it never holds a secret and
// is never freed.
typedef struct {
    int32_t alert;   // the alert that the peer sent, or -1
    int32_t posix;   // errno of the socket, or 0
    int32_t verify;  // an X509_V_ERR_ code, or 0
    const char *reason;
} clt_failure;

// ---- the library

// OpenSSL is loaded with the first call that needs it. NULL if it is loaded; else the loader's message, which names the file
// that is missing or unusable. The text belongs to the thread until its next call, which tries to load OpenSSL again.
const char *clt_library_failure(void);

// ---- addresses

// The bytes of a textual IP address (4 or 16, the count is returned), or 0 when `text` is none.
size_t clt_address(const char *text, uint8_t address[16]);

// ---- contexts

// `protocols` is an ALPN list in wire format.
clt_context *clt_context_new(
    uint16_t minimum, uint16_t maximum, const uint8_t *protocols, size_t count, bool asks_later, clt_failure *failure);
void clt_context_free(clt_context *context);
// Before the first stream: passes each secret to `log`, as a line of the NSS key log format without the line feed.
void clt_context_log_secrets(clt_context *context, void (*log)(const clt_ssl *ssl, const char *line));

// ---- streams

// `name` goes into SNI; NULL sends none. `session` is copied and stays the caller's. Where `below` is not NULL the stream
// goes over that one, whose handshake is complete and which outlives it, and not over the descriptor.
clt_stream *clt_stream_new(
    clt_context *context, int descriptor, clt_stream *below, const char *name, const clt_session *session,
    clt_failure *failure);
void clt_stream_free(clt_stream *stream);

// Before the handshake: has it agree to no version below `minimum`, if that is not 0, and to no key exchange without
// forward secrecy, if that is wanted.
bool clt_stream_restrict(clt_stream *stream, uint16_t minimum, bool needs_forward_secrecy);
// Before the handshake: offers this ALPN list, in wire format, in place of the context's; none if it is empty.
bool clt_stream_offer(clt_stream *stream, const uint8_t *protocols, size_t count);

clt_step clt_handshake(clt_stream *stream);
// Fills as much of the buffer as is there. `*count` may be above 0 with every result.
clt_step clt_read(clt_stream *stream, void *bytes, size_t capacity, size_t *count);
// After CLT_WANT_WRITE or CLT_WANT_READ the next call must begin with the bytes that this one did not take. When the
// socket fails, reading continues: the peer may have sent an alert before it closed the connection.
clt_step clt_write(clt_stream *stream, const void *bytes, size_t length, size_t *count);
// Sends close_notify; reading continues. False if the socket has no room for it now.
bool clt_shutdown(clt_stream *stream);

// The failure of the last call that returned CLT_FAILED or CLT_ENDED.
clt_failure clt_stream_failure(const clt_stream *stream);
// Whether the last call to clt_read took everything that the socket had.
bool clt_stream_is_drained(const clt_stream *stream);
// Whether the buffers of records are kept between records. Not at first. With OpenSSL 3.2 or later, only that for reading.
void clt_stream_keep_buffers(clt_stream *stream, bool keeps);

// What CLT_WANT_TRUST is about. The chain is the caller's to free.
clt_chain *clt_stream_peer_chain(const clt_stream *stream);
const uint8_t *clt_stream_stapled_response(const clt_stream *stream, size_t *count);
// False if no decision is pending. `verify` is the X509_V_ERR_ code that chooses the alert of a rejection.
bool clt_decide_trust(clt_stream *stream, bool accepted, int32_t verify);

// What CLT_WANT_IDENTITY is about.
bool clt_stream_identity_requested(const clt_stream *stream);
bool clt_stream_identity_provided(const clt_stream *stream);
bool clt_stream_identity_refused(const clt_stream *stream);  // OpenSSL would not use the identity it was given
size_t clt_stream_issuer_count(const clt_stream *stream);
// The DER form of a distinguished name; valid until the next call for the stream.
const uint8_t *clt_stream_issuer(const clt_stream *stream, size_t index, size_t *count);
size_t clt_stream_signature_schemes(const clt_stream *stream, uint16_t *schemes, size_t capacity);
// False if no decision is pending. The identity must outlive the next call of clt_handshake or clt_read; it may be NULL.
bool clt_provide_identity(clt_stream *stream, const clt_identity *identity);

// What was agreed upon.
uint16_t clt_stream_version(const clt_stream *stream);
uint16_t clt_stream_cipher(const clt_stream *stream);
bool clt_stream_is_resumed(const clt_stream *stream);
const uint8_t *clt_stream_protocol(const clt_stream *stream, size_t *count);

// ---- sessions to resume

// The next session that the server has issued since the last call, or NULL. The caller's to free.
clt_session *clt_stream_take_session(clt_stream *stream);
void clt_session_free(clt_session *session);
uint16_t clt_session_version(const clt_session *session);

typedef struct {
    int64_t received;  // in seconds since 1970
    int64_t lifetime;  // OpenSSL's own limit, in seconds
    int64_t hint;      // the lifetime that the server names with a ticket, in seconds; 0 also if there is no ticket
} clt_session_times;

clt_session_times clt_session_times_of(const clt_session *session);

// ---- certificate chains, the leaf first

clt_chain *clt_chain_new(void);
bool clt_chain_append(clt_chain *chain, const uint8_t *der, size_t count);
void clt_chain_free(clt_chain *chain);
size_t clt_chain_count(const clt_chain *chain);
// Writes the DER form when `der` is not NULL; returns its length, or 0.
size_t clt_chain_certificate(const clt_chain *chain, size_t index, uint8_t *der);

// ---- trust

clt_roots *clt_roots_new(void);
void clt_roots_free(clt_roots *roots);
bool clt_roots_add_directory(clt_roots *roots, const char *path);
bool clt_roots_add_file(clt_roots *roots, const char *path);
bool clt_roots_add_certificate(clt_roots *roots, const uint8_t *der, size_t count);
// Whether the directory has certificates under names made of their subjects' hashes.
bool clt_is_hashed_directory(const char *path);
bool clt_is_readable_file(const char *path);
// An environment variable, unless the process runs with more rights than its caller.
const char *clt_environment(const char *name);

typedef enum { CLT_ANY_PURPOSE, CLT_TLS_SERVER, CLT_TLS_CLIENT } clt_purpose;

// What a chain must be good for.
typedef struct {
    clt_purpose purpose;
    bool names_host;         // a chain of any host will do when it is false
    const char *name;        // the host's name, or NULL, and then its
    const uint8_t *address;  // address
    size_t address_count;    // of 4 or 16 bytes
    int64_t time;            // seconds since 1970
    const uint8_t *response; // an OCSP response about the leaf, or NULL
    size_t response_count;
    bool needs_good_response;
} clt_demand;

// Whether the chain leads to one of the roots, is valid at the time, belongs to the host, and is not revoked by the
// response. `built` is the chain from leaf to root, or as far as it could be built; the caller's to free, and NULL when
// there is none.
bool clt_evaluate(
    clt_roots *roots, const clt_chain *chain, const clt_demand *demand, clt_chain **built, clt_failure *failure);

// Something that is wrong with a chain.
typedef struct {
    int32_t verify;      // an X509_V_ERR_ code
    int32_t depth;       // of the certificate that is at fault, 0 for the leaf
    const char *reason;  // a constant text of OpenSSL's
} clt_fault;

// The same without stopping at the first fault: writes each, once, in the order in which OpenSSL comes upon them. The
// first is the one that clt_evaluate fails with. False, with the cause, when the chain was not looked at to its end,
// also for want of room: then there may be more. `built` is the chain from leaf to root, or as far as it could be built;
// the caller's to free, and NULL when there is none.
bool clt_find_faults(
    clt_roots *roots, const clt_chain *chain, const clt_demand *demand, clt_fault *faults, size_t capacity,
    size_t *count, clt_chain **built, clt_failure *failure);

// ---- certificates

// Bytes of the caller's, to be freed; NULL when there are none or no memory.
typedef struct {
    uint8_t *bytes;
    size_t count;
} clt_bytes;
void clt_bytes_free(clt_bytes bytes);

typedef enum {
    CLT_DER,
    CLT_SUMMARY,      // what a person would call its owner, in UTF-8
    CLT_ISSUER_SUMMARY,
    CLT_COMMON_NAME,  // in UTF-8
    CLT_SERIAL,       // big-endian
    CLT_ISSUER,       // a distinguished name in DER, normalised so that equal names have equal bytes
    CLT_SUBJECT,
    CLT_KEY,          // the SubjectPublicKeyInfo in DER
    CLT_LABEL,        // what a PKCS #12 archive calls it, in UTF-8
    CLT_KEY_ID,       // the attribute of a PKCS #12 archive that identifies its key
} clt_part;

typedef enum { CLT_RSA, CLT_ELLIPTIC, CLT_OTHER_KEY } clt_key_kind;
typedef enum { CLT_SHA2, CLT_EDWARDS, CLT_SHA1, CLT_OTHER_HASH } clt_signature_hash;

// The fields of a certificate.
typedef struct {
    clt_key_kind key;
    size_t key_bits;               // of the modulus, or of the curve's field
    clt_signature_hash signature;  // of the signature on it
    bool has_purposes;             // whether it says what it is for; if so,
    bool is_for_servers;           // whether that is TLS servers,
    bool is_for_anything;          // or anything
    bool is_authority;
    int32_t path_length;           // -1: any
    bool is_self_issued;
} clt_facts;
typedef enum { CLT_HOST_NAME, CLT_ADDRESS_NAME, CLT_OTHER_NAME } clt_name_kind;

// NULL when the bytes are not one certificate in DER.
clt_certificate *clt_certificate_new(const uint8_t *der, size_t count);
void clt_certificate_free(clt_certificate *certificate);
clt_bytes clt_certificate_part(const clt_certificate *certificate, clt_part part);
// The mail addresses in the subject and the subject alternative names, each with a zero byte at its end.
clt_bytes clt_certificate_mail(const clt_certificate *certificate);
// Seconds since 1970; false when the certificate does not say it in a way that can be understood.
bool clt_certificate_validity(const clt_certificate *certificate, int64_t *from, int64_t *until);
clt_facts clt_certificate_facts(const clt_certificate *certificate);
// The hash of the certificate for channel bindings of the type tls-server-end-point (RFC 5929 section 4.1). Returns its length; 0 if
// the type is undefined for the certificate, because the signature on it has no hash function of its own, as with Ed25519, or one that
// OpenSSL does not have.
size_t clt_certificate_end_point_hash(const clt_certificate *certificate, uint8_t hash[64]);
// The subject alternative names, to be freed; NULL when there are none, or none that can be read.
clt_names *clt_certificate_names(const clt_certificate *certificate);
void clt_names_free(clt_names *names);
size_t clt_names_count(const clt_names *names);
// The bytes are those of the names, and none for a name of another kind.
clt_name_kind clt_names_get(const clt_names *names, size_t index, const uint8_t **bytes, size_t *count);
// Each is the caller's to free, and shares what is in it.
clt_certificate *clt_chain_get(const clt_chain *chain, size_t index);
clt_key *clt_certificate_key(const clt_certificate *certificate);

// ---- keys

void clt_key_free(clt_key *key);
clt_key_kind clt_key_kind_of(const clt_key *key);
size_t clt_key_bits(const clt_key *key);
bool clt_key_is_private(const clt_key *key);
// The public half of a private key; the caller's to free.
clt_key *clt_key_public(const clt_key *key);
// The plain form of a key: PKCS #1 for RSA; for an elliptic curve the point, uncompressed, and behind it the number if
// the key is private.
clt_bytes clt_key_plain(const clt_key *key);
// A private key in the DER of its kind.
clt_bytes clt_key_private_form(const clt_key *key);
// A key from its plain form; the length determines the curve, one of NIST's.
clt_key *clt_key_new(clt_key_kind kind, bool is_private, const uint8_t *bytes, size_t count);
bool clt_keys_are_equal(const clt_key *one, const clt_key *other);

// ---- identities

// Each returns NULL when the bytes are not what they should be, the password does not open them, or key and
// certificate do not belong together. `password` may be NULL.
clt_identity *clt_identity_from_pem(const uint8_t *bytes, size_t count, const char *password, clt_failure *failure);
// `is_unsupported`: OpenSSL has no algorithm to decrypt the archive with. RC2, RC4 and DES need its legacy module, which may not be
// installed.
clt_identity *clt_identity_from_pkcs12(
    const uint8_t *bytes, size_t count, const char *password, bool *is_unsupported, clt_failure *failure);
// The key in PKCS #8 or its own traditional form.
clt_identity *clt_identity_from_der(
    const clt_chain *chain, const uint8_t *key, size_t key_count, clt_failure *failure);
void clt_identity_free(clt_identity *identity);
// Whether a PKCS #12 archive is one, and whether the password opens it.
typedef enum { CLT_ARCHIVE_OPENS, CLT_ARCHIVE_IS_LOCKED, CLT_ARCHIVE_IS_NONE } clt_archive;
clt_archive clt_pkcs12_try(const uint8_t *bytes, size_t count, const char *password);
// A certificate with its key, and what should be sent with it (may be NULL). Shares them.
clt_identity *clt_identity_new(
    const clt_certificate *leaf, const clt_key *key, const clt_chain *intermediates, clt_failure *failure);
// The key shares what is in it; the caller's to free.
clt_key *clt_identity_key(const clt_identity *identity);
// The leaf and its chain; the caller's to free.
clt_chain *clt_identity_chain(const clt_identity *identity);

// ---- message digests

typedef enum { CLT_MD5, CLT_SHA256, CLT_SHA512_256 } clt_hash;

// NULL when the library does not offer the function, as for MD5 under FIPS rules.
clt_digest *clt_digest_new(clt_hash hash);
bool clt_digest_update(clt_digest *digest, const void *bytes, size_t count);
// The length of what was written, or 0. Nothing may be added afterwards.
size_t clt_digest_finish(clt_digest *digest, uint8_t result[64]);
void clt_digest_free(clt_digest *digest);

#endif
