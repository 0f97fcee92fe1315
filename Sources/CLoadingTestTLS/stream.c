#include "authority.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct cltt_stream {
    const struct cltt_openssl *openssl;
    SSL *ssl;
    SSL_CTX *context;
    cltt_authority *authority;
    /// Signs an untrusted certificate.
    cltt_authority *other_authority;
    int fault;
    bool offers_http2;
    bool is_http2;
};

// OpenSSL writes to a socket without MSG_NOSIGNAL, and may write in each of its calls.
static void block_sigpipe(sigset_t *pipe, sigset_t *previous) {
    sigemptyset(pipe);
    sigaddset(pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, pipe, previous);
}

static void restore_sigpipe(const sigset_t *pipe, const sigset_t *previous) {
    const struct timespec none = { 0 };
    while (sigtimedwait(pipe, NULL, &none) < 0 && errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, previous, NULL);
}

/// The result of a call without the signal.
#define WITHOUT_SIGPIPE(call) \
    ({ \
        sigset_t pipe, previous; \
        block_sigpipe(&pipe, &previous); \
        const int result = call; \
        restore_sigpipe(&pipe, &previous); \
        result; \
    })

/// Called when the client's name is known.
static int choose_certificate(SSL *ssl, void *argument) {
    cltt_stream *stream = argument;
    const struct cltt_openssl *openssl = stream->openssl;
    cltt_authority *authority = stream->other_authority != NULL ? stream->other_authority : stream->authority;
    X509 *certificate =
        cltt_certificate(openssl, authority, openssl->SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name), stream->fault);
    const bool is_set = certificate != NULL && openssl->SSL_use_certificate(ssl, certificate) == 1
        && openssl->SSL_use_PrivateKey(ssl, authority->server_key) == 1;
    openssl->X509_free(certificate);
    return is_set ? 1 : 0;
}

/// The position of a protocol in the list that the client offers; NULL if it is not there.
static const unsigned char *find_protocol(const unsigned char *offered, unsigned int count, const char *name) {
    for (unsigned int at = 0; at < count && at + 1 + offered[at] <= count; at += 1 + offered[at])
        if (offered[at] == strlen(name) && memcmp(offered + at + 1, name, offered[at]) == 0) return offered + at;
    return NULL;
}

static int choose_protocol(
    SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered, unsigned int count, void *argument) {
    (void)ssl;
    cltt_stream *stream = argument;
    const unsigned char *protocol = stream->offers_http2 ? find_protocol(offered, count, "h2") : NULL;
    stream->is_http2 = protocol != NULL;
    if (protocol == NULL) protocol = find_protocol(offered, count, "http/1.1");
    if (protocol == NULL) return SSL_TLSEXT_ERR_NOACK;
    *chosen = protocol + 1;
    *length = *protocol;
    return SSL_TLSEXT_ERR_OK;
}

cltt_stream *cltt_accept(cltt_authority *authority, int descriptor, int fault, bool offers_http2) {
    const struct cltt_openssl *openssl = cltt_openssl();
    cltt_stream *stream = openssl == NULL ? NULL : calloc(1, sizeof *stream);
    if (stream == NULL) return NULL;
    stream->openssl = openssl;
    stream->authority = authority;
    stream->fault = fault;
    stream->offers_http2 = offers_http2;
    if (fault == CLTT_UNTRUSTED) stream->other_authority = cltt_authority_create("");
    stream->context = openssl->SSL_CTX_new(openssl->TLS_server_method());
    if (stream->context != NULL && (fault != CLTT_UNTRUSTED || stream->other_authority != NULL)) {
        openssl->SSL_CTX_set_cert_cb(stream->context, choose_certificate, stream);
        openssl->SSL_CTX_set_alpn_select_cb(stream->context, choose_protocol, stream);
        stream->ssl = openssl->SSL_new(stream->context);
        if (stream->ssl != NULL && openssl->SSL_set_fd(stream->ssl, descriptor) == 1 && WITHOUT_SIGPIPE(openssl->SSL_accept(stream->ssl)) == 1)
            return stream;
    }
    cltt_keep_error(openssl);
    cltt_stream_free(stream);
    return NULL;
}

void cltt_stream_free(cltt_stream *stream) {
    if (stream == NULL) return;
    stream->openssl->SSL_free(stream->ssl);
    stream->openssl->SSL_CTX_free(stream->context);
    cltt_authority_free(stream->other_authority);
    free(stream);
}

bool cltt_is_http2(const cltt_stream *stream) { return stream->is_http2; }

/// The result of a call that has moved no byte.
static ssize_t outcome(cltt_stream *stream, int result) {
    const int error = stream->openssl->SSL_get_error(stream->ssl, result);
    stream->openssl->ERR_clear_error();
    // A client that closes without close_notify is at its end too.
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? CLTT_LATER : 0;
}

ssize_t cltt_read(cltt_stream *stream, uint8_t *buffer, size_t count) {
    const int got =
        WITHOUT_SIGPIPE(stream->openssl->SSL_read(stream->ssl, buffer, count > INT_MAX ? INT_MAX : (int)count));
    return got > 0 ? got : outcome(stream, got);
}

ssize_t cltt_write(cltt_stream *stream, const uint8_t *bytes, size_t count) {
    const int sent =
        WITHOUT_SIGPIPE(stream->openssl->SSL_write(stream->ssl, bytes, count > INT_MAX ? INT_MAX : (int)count));
    return sent > 0 ? sent : outcome(stream, sent);
}

void cltt_close(cltt_stream *stream) {
    (void)WITHOUT_SIGPIPE(stream->openssl->SSL_shutdown(stream->ssl));
    stream->openssl->ERR_clear_error();
}
