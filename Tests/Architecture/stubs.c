// Calls OpenSSL, ngtcp2, nghttp3 and GnuTLS through the jumps that are written in assembler, for an architecture that the tests
// do not run on; scripts/check-arm64 builds and runs it. With an argument the libraries are not to be found.

#include "CLoadingHTTP3.h"
#include "CLoadingTLS.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void expect(bool holds, const char *what) {
    printf("%s: %s\n", holds ? "holds" : "FAILS", what);
    if (!holds) failures++;
}

static void check_digest(void) {
    static const uint8_t expected[] = {
        0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
        0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
    };
    uint8_t result[64];
    clt_digest *digest = clt_digest_new(CLT_SHA256);
    size_t count = digest && clt_digest_update(digest, "abc", 3) ? clt_digest_finish(digest, result) : 0;
    expect(count == sizeof expected && memcmp(result, expected, count) == 0, "SHA-256 of abc, by the first call");
    if (digest) clt_digest_free(digest);
}

static void check_context(void) {
    static const uint8_t protocols[] = "\2h2\10http/1.1";
    clt_failure failure = {0};
    clt_context *context = clt_context_new(0x0303, 0x0304, protocols, sizeof protocols - 1, false, &failure);
    expect(context != NULL, "a context of TLS");
    if (context) clt_context_free(context);
}

static void ignore_more_streams(void *owner) { (void)owner; }

static cl3_session *start(cl3_result *result) {
    static struct sockaddr_in local, remote;
    local.sin_family = remote.sin_family = AF_INET;
    local.sin_addr.s_addr = remote.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    remote.sin_port = htons(443);
    // Nothing comes, so there are hardly any events.
    static const cl3_callbacks callbacks = {.more_streams = ignore_more_streams};
    static const cl3_limits limits = {
        .section_bytes = 65536, .section_fields = 100, .section_excess = 4, .table_capacity = 4096, .blocked_streams = 16,
        .unidirectional_streams = 16, .connection_ids = 4, .handshake_message = 131072, .stream_window = 65536,
        .connection_window = 65536,
        .unacknowledged = 65536, .idle_timeout = 30000000000, .handshake_timeout = 10000000000,
    };
    const cl3_opening opening = {
        .endpoints = {&local, sizeof local, &remote, sizeof remote}, .server_name = "example.com", .now = 1,
    };
    return cl3_new(&callbacks, NULL, &limits, &opening, result);
}

static void check_session(void) {
    cl3_result result;
    cl3_session *session = start(&result);
    expect(session != NULL, "a session of HTTP/3");
    if (!session) return;
    cl3_output output;
    int written = cl3_write(session, 2, &output);
    // A long header, and no less than a first datagram has to have.
    expect(written == 0 && output.count >= 1200 && (output.bytes[0] & 0xc0) == 0xc0, "the first datagram of a handshake");
    cl3_free(session);
}

static void check_absence(void) {
    cl3_result result;
    clt_failure failure = {0};
    expect(clt_digest_new(CLT_SHA256) == NULL, "no digest");
    expect(clt_context_new(0x0303, 0x0304, NULL, 0, false, &failure) == NULL, "no context");
    const char *text = clt_library_failure();
    expect(text != NULL && strstr(text, "libssl.so.3") != NULL, "OpenSSL is named");
    expect(start(&result) == NULL && result == CL3_UNAVAILABLE, "no session");
    text = cl3_library_failure();
    expect(text != NULL && strstr(text, "libngtcp2_crypto_gnutls.so") != NULL, "ngtcp2 is named");
}

int main(int count, char **words) {
    (void)words;
    if (count > 1) {
        check_absence();
    } else {
        check_digest();
        check_context();
        check_session();
    }
    return failures != 0;
}
