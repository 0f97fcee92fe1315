#include "floor.h"

#include <openssl/ssl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/// What the socket gave and OpenSSL has not asked for yet: one recv serves many records.
struct input {
    int fd;
    size_t at, length, size;
    char *bytes;
};

static int input_read(BIO *bio, char *out, size_t wanted, size_t *count) {
    struct input *input = BIO_get_data(bio);
    if (input->at == input->length) {
        ssize_t received = recv(input->fd, input->bytes, input->size, 0);
        if (received <= 0) return 0;
        input->at = 0;
        input->length = (size_t)received;
    }
    size_t here = input->length - input->at;
    *count = wanted < here ? wanted : here;
    memcpy(out, input->bytes + input->at, *count);
    input->at += *count;
    return 1;
}

static long input_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static SSL *open_tls(struct input *input) {
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "input");
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!method || !context) return NULL;
    BIO_meth_set_read_ex(method, input_read);
    BIO_meth_set_ctrl(method, input_control);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    // One hashed file is read when its authority is asked for; the bundle would be parsed as a whole.
    const char *authorities = getenv("SSL_CERT_DIR");
    SSL_CTX_load_verify_dir(context, authorities ? authorities : "/etc/ssl/certs");
    BIO *reader = BIO_new(method), *writer = BIO_new_socket(input->fd, BIO_NOCLOSE);
    SSL *tls = SSL_new(context);
    if (!reader || !writer || !tls) return NULL;
    BIO_set_data(reader, input);
    BIO_set_init(reader, 1);
    SSL_set_bio(tls, reader, writer);
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), "127.0.0.1");
    return SSL_connect(tls) == 1 ? tls : NULL;
}

void run_tls(const struct workload *workload, struct totals *totals) {
    char request[512], bytes[16384];
    size_t request_length = format_request(workload, request, sizeof request);
    struct input input = {.fd = open_connection(workload, 0), .size = (size_t)workload->buffer};
    input.bytes = malloc(input.size);
    SSL *tls = input.bytes ? open_tls(&input) : NULL;
    if (!tls) totals->errors++;
    for (; tls && totals->requests < workload->requests && totals->errors == 0; totals->requests++) {
        struct head head = {0};
        size_t length = 0, count = 0, head_length = 0;
        if (SSL_write(tls, request, (int)request_length) != (int)request_length) totals->errors++;
        while (!head_length && length < sizeof bytes &&
               SSL_read_ex(tls, bytes + length, sizeof bytes - length, &count)) {
            length += count;
            head_length = parse_head(bytes, length, &head);
        }
        uint64_t received = length - head_length;
        while (received < head.content_length && SSL_read_ex(tls, bytes, sizeof bytes, &count)) received += count;
        totals->bytes += received;
        if (head.status != 200 || received != workload->body) totals->errors++;
    }
    close(input.fd);
}
