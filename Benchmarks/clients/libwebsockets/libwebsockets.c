// The C peer of WebSockets: libwebsockets with its own event loop.
#include "workload.h"

#include <libwebsockets.h>
#include <stdlib.h>
#include <string.h>

struct echo {
    long waiting;
    uint64_t received;
};

static struct workload workload;
static struct totals totals;
static long started, closed;
static unsigned char *payload;

static int fail(void) {
    totals.errors++;
    return -1;
}

static int send_messages(struct lws *socket, struct echo *echo) {
    long window = workload.concurrency / workload.connections;
    while (echo->waiting < window && started < workload.requests) {
        if (lws_write(socket, payload + LWS_PRE, workload.body, LWS_WRITE_BINARY) < (int)workload.body) return fail();
        started++;
        echo->waiting++;
        // It keeps what the socket did not take, and wants nothing more before that is gone.
        if (lws_send_pipe_choked(socket)) break;
    }
    if (echo->waiting < window && started < workload.requests) lws_callback_on_writable(socket);
    return 0;
}

static int received(struct lws *socket, struct echo *echo, size_t length) {
    echo->received += length;
    if (lws_remaining_packet_payload(socket) || !lws_is_final_fragment(socket)) return 0;
    if (echo->received != workload.body) return fail();
    totals.bytes += echo->received;
    totals.requests++;
    echo->received = 0;
    echo->waiting--;
    if (started < workload.requests) lws_callback_on_writable(socket);
    return 0;
}

static int handle(struct lws *socket, enum lws_callback_reasons reason, void *user, void *bytes, size_t length) {
    (void)bytes;
    switch (reason) {
    case LWS_CALLBACK_CLIENT_ESTABLISHED: lws_callback_on_writable(socket); return 0;
    case LWS_CALLBACK_CLIENT_WRITEABLE: return send_messages(socket, user);
    case LWS_CALLBACK_CLIENT_RECEIVE: return received(socket, user, length);
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
    case LWS_CALLBACK_CLIENT_CLOSED: closed++; return 0;
    default: return 0;
    }
}

static struct lws_context *make_context(void) {
    static const struct lws_protocols protocols[] = {
        {.name = "echo", .callback = handle, .per_session_data_size = sizeof(struct echo), .rx_buffer_size = 65536},
        {0},
    };
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .protocols = protocols,
        .gid = (gid_t)-1,
        .uid = (uid_t)-1,
        .options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT,
        .pt_serv_buf_size = 65536,
        .client_ssl_ca_filepath = "/etc/ssl/certs/ca-certificates.crt",
    };
    lws_set_log_level(LLL_ERR, NULL);
    return lws_create_context(&info);
}

static void connect_to_server(struct lws_context *context) {
    struct lws_client_connect_info info = {
        .context = context,
        .address = "127.0.0.1",
        .port = workload.port,
        .path = workload.path,
        .host = "127.0.0.1",
        .local_protocol_name = "echo",
        .ssl_connection = workload.tls ? LCCSCF_USE_SSL : 0,
    };
    if (!lws_client_connect_via_info(&info)) fail();
}

int main(int argc, char **argv) {
    workload = workload_from_arguments(argc, argv, 65536);
    meter_start();
    payload = calloc(1, LWS_PRE + workload.body);
    struct lws_context *context = payload ? make_context() : NULL;
    if (!context) fail();
    for (long index = 0; index < workload.connections && context; index++) connect_to_server(context);
    while (totals.requests < workload.requests && !totals.errors && !closed) lws_service(context, 0);
    if (closed) fail();
    return meter_report(&totals);
}
