#include "authority.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct cltt_stream {
    const struct cltt_openssl *openssl;
    SSL *ssl;
    SSL_CTX *context;
    cltt_authority *authority;
    /// Signs an untrusted certificate.
    cltt_authority *stranger;
    int fault;
};

/// Called when the client's name is known.
static int choose_certificate(SSL *ssl, void *argument) {
    cltt_stream *stream = argument;
    const struct cltt_openssl *openssl = stream->openssl;
    cltt_authority *authority = stream->stranger != NULL ? stream->stranger : stream->authority;
    X509 *certificate =
        cltt_certificate(openssl, authority, openssl->SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name), stream->fault);
    const bool is_set = certificate != NULL && openssl->SSL_use_certificate(ssl, certificate) == 1
        && openssl->SSL_use_PrivateKey(ssl, authority->server_key) == 1;
    openssl->X509_free(certificate);
    return is_set ? 1 : 0;
}

static int choose_protocol(
    SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered, unsigned int count, void *argument) {
    (void)ssl, (void)argument;
    static const char name[] = "http/1.1";
    for (unsigned int at = 0; at < count && at + 1 + offered[at] <= count; at += 1 + offered[at]) {
        if (offered[at] != sizeof name - 1 || memcmp(offered + at + 1, name, sizeof name - 1) != 0) continue;
        *chosen = offered + at + 1;
        *length = offered[at];
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_NOACK;
}

cltt_stream *cltt_accept(cltt_authority *authority, int descriptor, int fault) {
    const struct cltt_openssl *openssl = cltt_openssl();
    cltt_stream *stream = openssl == NULL ? NULL : calloc(1, sizeof *stream);
    if (stream == NULL) return NULL;
    stream->openssl = openssl;
    stream->authority = authority;
    stream->fault = fault;
    if (fault == CLTT_UNTRUSTED) stream->stranger = cltt_authority_create();
    stream->context = openssl->SSL_CTX_new(openssl->TLS_server_method());
    if (stream->context != NULL && (fault != CLTT_UNTRUSTED || stream->stranger != NULL)) {
        openssl->SSL_CTX_set_cert_cb(stream->context, choose_certificate, stream);
        openssl->SSL_CTX_set_alpn_select_cb(stream->context, choose_protocol, NULL);
        stream->ssl = openssl->SSL_new(stream->context);
        if (stream->ssl != NULL && openssl->SSL_set_fd(stream->ssl, descriptor) == 1 && openssl->SSL_accept(stream->ssl) == 1)
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
    cltt_authority_free(stream->stranger);
    free(stream);
}

ssize_t cltt_read(cltt_stream *stream, uint8_t *buffer, size_t count) {
    const int got = stream->openssl->SSL_read(stream->ssl, buffer, count > INT_MAX ? INT_MAX : (int)count);
    stream->openssl->ERR_clear_error();
    // A client that closes without close_notify is at its end too.
    return got > 0 ? got : 0;
}

int cltt_write(cltt_stream *stream, const uint8_t *bytes, size_t count) {
    while (count > 0) {
        const int sent = stream->openssl->SSL_write(stream->ssl, bytes, count > INT_MAX ? INT_MAX : (int)count);
        if (sent <= 0) {
            cltt_keep_error(stream->openssl);
            return -1;
        }
        bytes += sent;
        count -= (size_t)sent;
    }
    return 0;
}

void cltt_close(cltt_stream *stream) {
    stream->openssl->SSL_shutdown(stream->ssl);
    stream->openssl->ERR_clear_error();
}
