#include "CLoadingTLS.h"

#include "callbacks.h"
#include "failure.h"
#include "identity.h"
#include "openssl.h"
#include "socket.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_SESSIONS = 4,
    // Messages of the handshake protocol on one connection. OpenSSL goes on with the next one within one call, so a
    // server could hold a thread with session tickets, key updates or requests for a certificate.
    MOST_MESSAGES = 4096,
    // Octets of content that make up for one message.
    CONTENT_PER_MESSAGE = 1024,
};

typedef enum { UNASKED, ASKED, GRANTED, DENIED } decision;

struct clt_stream {
    SSL *ssl;
    clt_socket socket;
    clt_failure failure;
    bool failed;
    bool write_failed;  // there may still be something to read
    bool drained;
    bool carries;  // another stream goes over this one, and asks for a few bytes at a time

    decision trust;
    int32_t rejection;
    STACK_OF(X509) *offered;  // the peer's chain while trust is asked for

    decision identity;
    const clt_identity *provided;  // lent until the callback has used it
    bool identity_requested;
    bool identity_provided;
    bool identity_refused;

    bool buffers_idle;  // OpenSSL may hold record buffers that it does not need
    uint32_t message_count;  // of the handshake protocol, less what content has made up for
    uint32_t content;  // octets that have not made up for a message yet
    uint8_t session_count;
    SSL_SESSION *sessions[MOST_SESSIONS];
};

// ---- life

clt_stream *clt_stream_new(
    clt_context *context, int descriptor, clt_stream *below, const char *name, const clt_session *session,
    clt_failure *failure) {
    ERR_clear_error();
    clt_stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) { *failure = clt_failure_take("out of memory"); return NULL; }
    stream->socket.descriptor = descriptor;
    stream->socket.below = below;
    if (below != NULL) below->carries = true;
    stream->ssl = SSL_new(context);
    BIO *bio = stream->ssl == NULL ? NULL : clt_socket_bio(&stream->socket);
    if (bio == NULL) {
        *failure = clt_failure_take("out of memory");
        clt_stream_free(stream);
        return NULL;
    }
    SSL_set_bio(stream->ssl, bio, bio);
    SSL_set_app_data(stream->ssl, stream);
    SSL_set_connect_state(stream->ssl);
    if (name != NULL && SSL_set_tlsext_host_name(stream->ssl, name) != 1) {
        *failure = clt_failure_take("invalid server name");
        clt_stream_free(stream);
        return NULL;
    }
    if (session != NULL) {
        // A copy, so that two connections on two threads never write to one session. Without it: a full handshake.
        SSL_SESSION *copy = SSL_SESSION_dup(session);
        if (copy != NULL) {
            SSL_set_session(stream->ssl, copy);
            SSL_SESSION_free(copy);
        }
        ERR_clear_error();
    }
    return stream;
}

void clt_stream_free(clt_stream *stream) {
    if (stream == NULL) return;
    if (stream->ssl != NULL) {
        // OpenSSL spoils the session of a connection that goes without close_notify. That is a habit of SSL 3; HTTP
        // connections end so all the time.
        if (SSL_is_init_finished(stream->ssl))
            SSL_set_shutdown(stream->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        SSL_free(stream->ssl);
    }
    for (int index = 0; index < stream->session_count; index++) SSL_SESSION_free(stream->sessions[index]);
    sk_X509_pop_free(stream->offered, X509_free);
    clt_socket_discard(&stream->socket);
    free(stream);
}

bool clt_stream_restrict(clt_stream *stream, uint16_t minimum, bool needs_forward_secrecy) {
    ERR_clear_error();
    bool done = (minimum == 0 || SSL_set_min_proto_version(stream->ssl, minimum) == 1)
        // Up to TLS 1.2; every suite of TLS 1.3 has it.
        && (!needs_forward_secrecy
            || SSL_set_cipher_list(stream->ssl, "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:!AESCCM") == 1);
    ERR_clear_error();
    return done;
}

bool clt_stream_offer(clt_stream *stream, const uint8_t *protocols, size_t count) {
    ERR_clear_error();
    // It answers 0 when it has done it.
    bool done = count <= UINT16_MAX && SSL_set_alpn_protos(stream->ssl, protocols, (unsigned)count) == 0;
    ERR_clear_error();
    return done;
}

// ---- callbacks

int clt_on_verify(X509_STORE_CTX *verification, void *unused) {
    (void)unused;
    SSL *ssl = X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx());
    clt_stream *stream = SSL_get_app_data(ssl);
    switch (stream->trust) {
    case GRANTED:
        X509_STORE_CTX_set_error(verification, X509_V_OK);
        return 1;
    case DENIED:
        X509_STORE_CTX_set_error(verification, stream->rejection);
        return 0;
    case UNASKED:
        stream->offered = X509_chain_up_ref(X509_STORE_CTX_get0_untrusted(verification));
        stream->trust = ASKED;
        break;
    case ASKED:
        break;
    }
    return SSL_set_retry_verify(ssl);
}

static bool use_identity(SSL *ssl, const clt_identity *identity) {
    return SSL_use_cert_and_key(ssl, identity->leaf, identity->key, identity->intermediates, 1) == 1;
}

int clt_on_certificate_request(SSL *ssl, void *unused) {
    (void)unused;
    clt_stream *stream = SSL_get_app_data(ssl);
    if (stream->identity == UNASKED) {
        stream->identity = ASKED;
        stream->identity_requested = true;
    }
    if (stream->identity == ASKED) return -1;
    const clt_identity *identity = stream->provided;
    stream->provided = NULL;
    // A server may ask again after the handshake, and then for something else.
    stream->identity = UNASKED;
    SSL_certs_clear(ssl);
    stream->identity_provided = identity != NULL;
    if (identity == NULL) return 1;
    stream->identity_refused = !use_identity(ssl, identity);
    return stream->identity_refused ? 0 : 1;
}

void clt_on_message(
    int is_written, int version, int type, const void *bytes, size_t count, SSL *ssl, void *unused) {
    (void)version, (void)bytes, (void)count, (void)unused;
    if (is_written || type != SSL3_RT_HANDSHAKE) return;
    clt_stream *stream = SSL_get_app_data(ssl);
    if (stream != NULL && ++stream->message_count > MOST_MESSAGES) stream->socket.is_flooded = true;
}

int clt_on_session(SSL *ssl, SSL_SESSION *session) {
    clt_stream *stream = SSL_get_app_data(ssl);
    if (stream == NULL || SSL_SESSION_is_resumable(session) != 1) return 0;
    if (stream->session_count == MOST_SESSIONS) {
        SSL_SESSION_free(stream->sessions[0]);
        memmove(&stream->sessions[0], &stream->sessions[1], sizeof stream->sessions - sizeof stream->sessions[0]);
        stream->session_count--;
    }
    stream->sessions[stream->session_count++] = session;
    stream->buffers_idle = true;
    return 1;
}

// ---- steps

static clt_step fail(clt_stream *stream, clt_failure failure) {
    stream->failed = true;
    stream->failure = failure;
    return CLT_FAILED;
}

// What the result of an SSL_ call that did not succeed means. To be called at once after it, on the same thread.
static clt_step step_after(clt_stream *stream, int result) {
    switch (SSL_get_error(stream->ssl, result)) {
    case SSL_ERROR_WANT_READ: return CLT_WANT_READ;
    case SSL_ERROR_WANT_WRITE: return CLT_WANT_WRITE;
    case SSL_ERROR_WANT_RETRY_VERIFY: return CLT_WANT_TRUST;
    case SSL_ERROR_WANT_X509_LOOKUP: return CLT_WANT_IDENTITY;
    case SSL_ERROR_ZERO_RETURN: return CLT_CLOSED;
    default: break;
    }
    // From 3.2 on OpenSSL notes a failed call to the system among its own errors.
    if (stream->socket.is_flooded) {
        ERR_clear_error();
        return fail(stream, (clt_failure){ .alert = -1, .reason = "too many messages of the handshake protocol" });
    }
    unsigned long error = ERR_peek_error();
    bool protocol = error != 0 && !ERR_SYSTEM_ERROR(error);
    clt_failure failure = clt_failure_take("the connection was lost");
    if (!protocol) failure.posix = stream->socket.error;
    if (!protocol && failure.posix == 0 && stream->socket.ended) {
        stream->failure = failure;
        return CLT_ENDED;
    }
    return fail(stream, failure);
}

static clt_step finish_reading(clt_stream *stream, clt_step step) {
    if (clt_socket_finish(&stream->socket)) return step;
    return fail(stream, (clt_failure){ .alert = -1, .reason = "out of memory" });
}

// OpenSSL takes what is in the thread's queue for its own result. To look takes an eighth of the instructions of clearing it.
static void clear_errors(void) {
    if (ERR_peek_error() != 0) ERR_clear_error();
}

clt_step clt_handshake(clt_stream *stream) {
    if (stream->failed) return CLT_FAILED;
    // Entering OpenSSL before the decision would only make it call back and ask the same again.
    if (stream->trust == ASKED) return CLT_WANT_TRUST;
    if (stream->identity == ASKED) return CLT_WANT_IDENTITY;
    ERR_clear_error();
    clt_socket_begin(&stream->socket, 16384);
    int result = SSL_do_handshake(stream->ssl);
    return finish_reading(stream, result == 1 ? CLT_DONE : step_after(stream, result));
}

// A session ticket makes OpenSSL allocate a write buffer, which it keeps until the next write: a half of the memory of
// an idle connection. In the middle of a record it must not be asked to release its buffers, for it would.
static void release_idle_buffers(clt_stream *stream) {
    if (strcmp(SSL_rstate_string(stream->ssl), "RH") != 0) return;
    // Nor while a record is only partly read: OpenSSL before 3.0.14 would free what is left of it (CVE-2024-4741).
    if (SSL_has_pending(stream->ssl)) return;
    // It refuses while it has octets to send, or of the next record.
    if (SSL_free_buffers(stream->ssl) == 1) stream->buffers_idle = false;
}

void clt_stream_keep_buffers(clt_stream *stream, bool keeps) {
    if (keeps) {
        SSL_clear_mode(stream->ssl, SSL_MODE_RELEASE_BUFFERS);
        // From OpenSSL 3.2 on this returns the buffer for reading. There is no call for the one for writing.
        SSL_set_mode(stream->ssl, 0);
    } else {
        SSL_set_mode(stream->ssl, SSL_MODE_RELEASE_BUFFERS);
        // If they are in use, after the read that ends that.
        stream->buffers_idle = true;
        release_idle_buffers(stream);
    }
}

static void make_up(clt_stream *stream, size_t content) {
    content += stream->content;
    uint32_t messages = (uint32_t)(content / CONTENT_PER_MESSAGE);
    stream->content = (uint32_t)(content % CONTENT_PER_MESSAGE);
    stream->message_count -= messages < stream->message_count ? messages : stream->message_count;
}

clt_step clt_read(clt_stream *stream, void *bytes, size_t capacity, size_t *count) {
    size_t done = 0;
    clt_step step = CLT_DONE;
    if (stream->failed) { *count = 0; return CLT_FAILED; }
    if (stream->identity == ASKED) { *count = 0; return CLT_WANT_IDENTITY; }
    clt_socket_begin(&stream->socket, stream->carries ? SIZE_MAX : capacity);
    while (done < capacity) {
        size_t got = 0;
        clear_errors();
        int result = SSL_read_ex(stream->ssl, (uint8_t *)bytes + done, capacity - done, &got);
        if (result != 1) { step = step_after(stream, result); break; }
        done += got;
        make_up(stream, got);
        stream->socket.stops_drained = true;
        // OpenSSL, asked again, would only find out that there is no other record.
        if (clt_socket_is_empty(&stream->socket) && !SSL_has_pending(stream->ssl)) { step = CLT_WANT_READ; break; }
    }
    *count = done;
    stream->drained = step == CLT_WANT_READ && stream->socket.drained;
    if (stream->buffers_idle && step == CLT_WANT_READ) release_idle_buffers(stream);
    return finish_reading(stream, step);
}

clt_step clt_write(clt_stream *stream, const void *bytes, size_t length, size_t *count) {
    size_t done = 0;
    clt_step step = CLT_DONE;
    if (stream->failed || stream->write_failed) { *count = 0; return CLT_FAILED; }
    clt_socket_begin(&stream->socket, 0);
    while (done < length) {
        size_t taken = 0, part = length - done;
        clear_errors();
        // A record at a time. Given more, OpenSSL would go on with the next record when it has sent one that had to wait, and would not
        // report the first if the next has to wait too: with a small socket buffer, not before all is sent.
        if (part > SSL3_RT_MAX_PLAIN_LENGTH) part = SSL3_RT_MAX_PLAIN_LENGTH;
        stream->socket.has_more = length - done > part;
        int result = SSL_write_ex(stream->ssl, (const uint8_t *)bytes + done, part, &taken);
        if (result != 1) { step = step_after(stream, result); break; }
        done += taken;
    }
    stream->socket.has_more = false;
    *count = done;
    if (step == CLT_FAILED && stream->failure.posix != 0) {
        stream->failed = false;
        stream->write_failed = true;
    }
    return finish_reading(stream, step);
}

bool clt_shutdown(clt_stream *stream) {
    if (stream->failed || stream->write_failed || !SSL_is_init_finished(stream->ssl)) return true;
    ERR_clear_error();
    clt_socket_begin(&stream->socket, 0);
    int result = SSL_shutdown(stream->ssl);
    bool is_full = result < 0 && SSL_get_error(stream->ssl, result) == SSL_ERROR_WANT_WRITE;
    clt_socket_finish(&stream->socket);
    ERR_clear_error();
    return !is_full;
}

// ---- properties of a stream

clt_failure clt_stream_failure(const clt_stream *stream) { return stream->failure; }
bool clt_stream_is_drained(const clt_stream *stream) { return stream->drained; }

clt_chain *clt_stream_peer_chain(const clt_stream *stream) {
    STACK_OF(X509) *chain = stream->offered != NULL ? stream->offered : SSL_get_peer_cert_chain(stream->ssl);
    return chain == NULL ? NULL : X509_chain_up_ref(chain);
}

const uint8_t *clt_stream_stapled_response(const clt_stream *stream, size_t *count) {
    const unsigned char *response = NULL;
    long length = SSL_get_tlsext_status_ocsp_resp(stream->ssl, &response);
    *count = length > 0 && response != NULL ? (size_t)length : 0;
    return *count > 0 ? response : NULL;
}

bool clt_decide_trust(clt_stream *stream, bool accepted, int32_t verify) {
    if (stream->trust != ASKED) return false;
    stream->trust = accepted ? GRANTED : DENIED;
    stream->rejection = verify != X509_V_OK ? verify : X509_V_ERR_APPLICATION_VERIFICATION;
    sk_X509_pop_free(stream->offered, X509_free);
    stream->offered = NULL;
    return true;
}

bool clt_stream_identity_requested(const clt_stream *stream) { return stream->identity_requested; }
bool clt_stream_identity_provided(const clt_stream *stream) { return stream->identity_provided; }
bool clt_stream_identity_refused(const clt_stream *stream) { return stream->identity_refused; }

size_t clt_stream_issuer_count(const clt_stream *stream) {
    const STACK_OF(X509_NAME) *names = SSL_get0_peer_CA_list(stream->ssl);
    int count = names == NULL ? 0 : sk_X509_NAME_num(names);
    return count > 0 ? (size_t)count : 0;
}

const uint8_t *clt_stream_issuer(const clt_stream *stream, size_t index, size_t *count) {
    *count = 0;
    if (index >= clt_stream_issuer_count(stream)) return NULL;
    const unsigned char *bytes = NULL;
    X509_NAME *name = sk_X509_NAME_value(SSL_get0_peer_CA_list(stream->ssl), (int)index);
    return X509_NAME_get0_der(name, &bytes, count) == 1 ? bytes : NULL;
}

size_t clt_stream_signature_schemes(const clt_stream *stream, uint16_t *schemes, size_t capacity) {
    size_t count = 0;
    unsigned char low, high;
    int known = SSL_get_sigalgs(stream->ssl, 0, NULL, NULL, NULL, &low, &high);
    for (int index = 0; index < known && count < capacity; index++) {
        if (SSL_get_sigalgs(stream->ssl, index, NULL, NULL, NULL, &low, &high) <= 0) break;
        schemes[count++] = (uint16_t)(high << 8 | low);
    }
    return count;
}

bool clt_provide_identity(clt_stream *stream, const clt_identity *identity) {
    if (stream->identity != ASKED) return false;
    stream->identity = GRANTED;
    stream->provided = identity;
    return true;
}

uint16_t clt_stream_version(const clt_stream *stream) { return (uint16_t)SSL_version(stream->ssl); }
uint16_t clt_stream_cipher(const clt_stream *stream) {
    const SSL_CIPHER *cipher = SSL_get_current_cipher(stream->ssl);
    return cipher == NULL ? 0 : SSL_CIPHER_get_protocol_id(cipher);
}
bool clt_stream_is_resumed(const clt_stream *stream) { return SSL_session_reused(stream->ssl) == 1; }
const uint8_t *clt_stream_protocol(const clt_stream *stream, size_t *count) {
    const unsigned char *bytes = NULL;
    unsigned length = 0;
    SSL_get0_alpn_selected(stream->ssl, &bytes, &length);
    *count = bytes == NULL ? 0 : length;
    return bytes;
}

// ---- sessions

clt_session *clt_stream_take_session(clt_stream *stream) {
    if (stream->session_count == 0) return NULL;
    SSL_SESSION *session = stream->sessions[0];
    stream->session_count--;
    memmove(&stream->sessions[0], &stream->sessions[1], stream->session_count * sizeof stream->sessions[0]);
    return session;
}
void clt_session_free(clt_session *session) { SSL_SESSION_free(session); }
uint16_t clt_session_version(const clt_session *session) { return (uint16_t)SSL_SESSION_get_protocol_version(session); }
// Its replacement is new in OpenSSL 3.3, and returns the same where a long has 64 bits.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static int64_t time_of(const clt_session *session) { return SSL_SESSION_get_time(session); }
#pragma GCC diagnostic pop

clt_session_times clt_session_times_of(const clt_session *session) {
    return (clt_session_times){
        .received = time_of(session),
        .lifetime = SSL_SESSION_get_timeout(session),
        .hint = (int64_t)SSL_SESSION_get_ticket_lifetime_hint(session),
    };
}
