#include "socket.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define CLT_SCRATCH 65536
// The header of a record has 5 bytes.
#define CLT_SHORT 16

static __thread uint8_t *scratch;
static pthread_key_t scratch_key;
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;
static BIO_METHOD *method;

static int socket_read(BIO *bio, char *bytes, int count);
static int socket_write(BIO *bio, const char *bytes, int count);
static long socket_control(BIO *bio, int command, long number, void *pointer);

static void prepare(void) {
    pthread_key_create(&scratch_key, free);
    BIO_METHOD *made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (made == NULL) return;
    BIO_meth_set_read(made, socket_read);
    BIO_meth_set_write(made, socket_write);
    BIO_meth_set_ctrl(made, socket_control);
    method = made;
}

BIO *clt_socket_bio(clt_socket *socket) {
    pthread_once(&scratch_once, prepare);
    if (method == NULL) return NULL;
    BIO *bio = BIO_new(method);
    if (bio == NULL) return NULL;
    BIO_set_data(bio, socket);
    BIO_set_init(bio, 1);
    return bio;
}

static uint8_t *thread_scratch(void) {
    if (scratch == NULL) {
        scratch = malloc(CLT_SCRATCH);
        pthread_setspecific(scratch_key, scratch);
    }
    return scratch;
}

void clt_socket_begin(clt_socket *socket, size_t ahead_limit) {
    socket->ahead_limit = ahead_limit > CLT_SCRATCH ? CLT_SCRATCH : (uint32_t)ahead_limit;
    socket->stops_drained = false;
    socket->drained = false;
    socket->error = 0;
}

bool clt_socket_finish(clt_socket *socket) {
    if (socket->kept != NULL) {
        if (socket->ahead_count == 0) clt_socket_discard(socket);
        return true;
    }
    if (socket->ahead_count == 0) return true;
    uint8_t *kept = malloc(socket->ahead_count);
    if (kept == NULL) { socket->ahead_count = 0; return false; }
    memcpy(kept, socket->ahead, socket->ahead_count);
    socket->kept = kept;
    socket->ahead = kept;
    return true;
}

bool clt_socket_is_empty(const clt_socket *socket) { return socket->drained && socket->ahead_count == 0; }

void clt_socket_discard(clt_socket *socket) {
    free(socket->kept);
    socket->kept = NULL;
    socket->ahead = NULL;
    socket->ahead_count = 0;
}

// What a step of the stream below that moved nothing means to the one above.
static int step_below(BIO *bio, clt_socket *socket, clt_step step) {
    // Whatever it has found out is in its failure.
    ERR_clear_error();
    switch (step) {
    case CLT_WANT_READ: BIO_set_retry_read(bio); return -1;
    case CLT_WANT_WRITE: BIO_set_retry_write(bio); return -1;
    case CLT_CLOSED:
    case CLT_ENDED: socket->ended = true; return 0;
    default: break;
    }
    clt_failure failure = clt_stream_failure(socket->below);
    socket->error = failure.posix != 0 ? failure.posix : EPROTO;
    return -1;
}

static int read_below(BIO *bio, clt_socket *socket, char *bytes, int count) {
    if (socket->drained && socket->stops_drained) { BIO_set_retry_read(bio); return -1; }
    size_t got = 0;
    clt_step step = clt_read(socket->below, bytes, (size_t)count, &got);
    // No challenge is possible in the middle of a connection.
    while (got == 0 && step == CLT_WANT_IDENTITY && clt_provide_identity(socket->below, NULL))
        step = clt_read(socket->below, bytes, (size_t)count, &got);
    socket->drained = step == CLT_WANT_READ && clt_stream_is_drained(socket->below);
    return got > 0 ? (int)got : step_below(bio, socket, step);
}

static int write_below(BIO *bio, clt_socket *socket, const char *bytes, int count) {
    size_t taken = 0;
    clt_step step = clt_write(socket->below, bytes, (size_t)count, &taken);
    while (taken == 0 && step == CLT_WANT_IDENTITY && clt_provide_identity(socket->below, NULL))
        step = clt_write(socket->below, bytes, (size_t)count, &taken);
    return taken > 0 ? (int)taken : step_below(bio, socket, step);
}

// What a call of `recv` or `recvmsg` means that has moved nothing.
static int result_without_bytes(BIO *bio, clt_socket *socket, ssize_t got) {
    if (got == 0) { socket->ended = true; return 0; }
    if (errno == EAGAIN || errno == EWOULDBLOCK) BIO_set_retry_read(bio);
    else socket->error = errno;
    return -1;
}

// Few bytes, the header of a record: to copy them takes less than a call with two buffers.
static int read_ahead(BIO *bio, clt_socket *socket, char *bytes, uint32_t count, uint8_t *ahead) {
    uint32_t room = socket->ahead_limit < CLT_SCRATCH - CLT_SHORT ? socket->ahead_limit + count : CLT_SCRATCH;
    ssize_t got;
    do got = recv(socket->descriptor, ahead, room, MSG_DONTWAIT); while (got < 0 && errno == EINTR);
    socket->drained = got < (ssize_t)room;
    if (got <= 0) return result_without_bytes(bio, socket, got);
    uint32_t given = (uint32_t)got < count ? (uint32_t)got : count;
    memcpy(bytes, ahead, given);
    socket->ahead = ahead + given;
    socket->ahead_count = (uint32_t)got - given;
    return (int)given;
}

static int socket_read(BIO *bio, char *bytes, int count) {
    clt_socket *socket = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (bytes == NULL || count <= 0) return 0;
    if (socket->is_flooded) { socket->error = EPROTO; return -1; }
    if (socket->below != NULL) return read_below(bio, socket, bytes, count);
    if (socket->ahead_count > 0) {
        uint32_t given = (uint32_t)count < socket->ahead_count ? (uint32_t)count : socket->ahead_count;
        memcpy(bytes, socket->ahead, given);
        socket->ahead += given;
        socket->ahead_count -= given;
        return (int)given;
    }
    if (socket->drained && socket->stops_drained) { BIO_set_retry_read(bio); return -1; }
    // What was kept is used up, so the scratch buffer may follow it.
    if (socket->kept != NULL) clt_socket_discard(socket);
    uint8_t *ahead = socket->ahead_limit > 0 ? thread_scratch() : NULL;
    if (ahead != NULL && count <= CLT_SHORT) return read_ahead(bio, socket, bytes, (uint32_t)count, ahead);
    struct iovec parts[2] = {
        { .iov_base = bytes, .iov_len = (size_t)count },
        { .iov_base = ahead, .iov_len = ahead == NULL ? 0 : socket->ahead_limit },
    };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = ahead == NULL ? 1 : 2 };
    ssize_t got;
    do got = recvmsg(socket->descriptor, &message, MSG_DONTWAIT); while (got < 0 && errno == EINTR);
    socket->drained = got < (ssize_t)(parts[0].iov_len + parts[1].iov_len);
    if (got <= 0) return result_without_bytes(bio, socket, got);
    if (got > count) {
        socket->ahead = ahead;
        socket->ahead_count = (uint32_t)(got - count);
        return count;
    }
    return (int)got;
}

static int socket_write(BIO *bio, const char *bytes, int count) {
    clt_socket *socket = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (bytes == NULL || count <= 0) return 0;
    if (socket->below != NULL) return write_below(bio, socket, bytes, count);
    ssize_t sent;
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (socket->has_more ? MSG_MORE : 0);
    do sent = send(socket->descriptor, bytes, (size_t)count, flags);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) BIO_set_retry_write(bio);
        else socket->error = errno;
        return -1;
    }
    return (int)sent;
}

static long socket_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    // The end of the stream is not reported through BIO_CTRL_EOF, so that OpenSSL reports it as a plain system call result
    // and leaves its judgement to `ended`.
    return command == BIO_CTRL_FLUSH;
}
