#define _GNU_SOURCE
#include "connection.h"

#include "echo.h"
#include "hold.h"

#include <openssl/err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { record = 16384, records_a_send = 16, response_room = 512, small_body = 100 };

// Every body comes from here. Sending it costs both sides less than sendfile, whose single pages the receiver has to
// walk; and as it is never written to, all of it is the kernel's one page of zeros, which stays in the nearest cache.
static char zeros[1 << 20];

// The body of /lines: text, whose lines all have the same length.
enum { line = 64 };
static char text[1 << 20];

/// The next bytes of the body, and how many there are. A text ends with a whole line.
static const char *next_of_body(const struct connection *connection, size_t most, size_t *count) {
    size_t from = connection->is_text ? (size_t)(-connection->body_left % line) : 0;
    if (most > sizeof zeros - from) most = sizeof zeros - from;
    *count = connection->body_left < most ? (size_t)connection->body_left : most;
    return (connection->is_text ? text : zeros) + from;
}

struct connection *connection_open(int fd, SSL_CTX *tls) {
    struct connection *connection = malloc(sizeof *connection);
    if (!connection) {
        close(fd);
        return NULL;
    }
    memset(connection, 0, offsetof(struct connection, in));
    connection->fd = fd;
    if (tls) {
        BIO *input = BIO_new_socket(fd, BIO_NOCLOSE), *output = BIO_new(BIO_s_mem());
        connection->tls = SSL_new(tls);
        if (!connection->tls || !input || !output) {
            BIO_free(input);
            BIO_free(output);
            connection_close(connection);
            return NULL;
        }
        SSL_set_bio(connection->tls, input, output);
        SSL_set_accept_state(connection->tls);
    }
    return connection;
}

void connection_close(struct connection *connection) {
    if (connection->held) hold_remove(connection);
    echo_close(connection->echo);
    SSL_free(connection->tls);
    close(connection->fd);
    free(connection);
}

// MARK: - Output

enum progress { failed, blocked, done };

static enum progress progress_of_errno(void) {
    return errno == EAGAIN || errno == EWOULDBLOCK ? blocked : failed;
}

static enum progress flush_plain(struct connection *connection) {
    while (connection->out_offset < connection->out_length) {
        int flags = MSG_NOSIGNAL | (connection->body_left ? MSG_MORE : 0);
        ssize_t sent = send(connection->fd, connection->out + connection->out_offset,
                            connection->out_length - connection->out_offset, flags);
        if (sent < 0) return progress_of_errno();
        connection->out_offset += (size_t)sent;
    }
    connection->out_offset = connection->out_length = 0;
    while (connection->body_left) {
        size_t wanted;
        const char *bytes = next_of_body(connection, sizeof zeros, &wanted);
        ssize_t sent = send(connection->fd, bytes, wanted, MSG_NOSIGNAL);
        if (sent < 0) return progress_of_errno();
        connection->body_left -= (uint64_t)sent;
    }
    return done;
}

/// Sends what OpenSSL has put into the memory BIO.
static enum progress drain_tls(struct connection *connection) {
    BIO *output = SSL_get_wbio(connection->tls);
    char *bytes;
    long length = BIO_get_mem_data(output, &bytes);
    while (connection->tls_sent < (size_t)length) {
        ssize_t sent = send(connection->fd, bytes + connection->tls_sent, (size_t)length - connection->tls_sent,
                            MSG_NOSIGNAL);
        if (sent < 0) return progress_of_errno();
        connection->tls_sent += (size_t)sent;
    }
    connection->tls_sent = 0;
    (void)BIO_reset(output);
    return done;
}

static enum progress flush_tls(struct connection *connection) {
    for (;;) {
        enum progress drained = drain_tls(connection);
        if (drained != done) return drained;
        if (connection->out_offset == connection->out_length && !connection->body_left) return done;
        for (int records = 0; records < records_a_send; records++) {
            const char *bytes = connection->out + connection->out_offset;
            size_t wanted = connection->out_length - connection->out_offset, sent = 0;
            bool body = wanted == 0;
            if (body) bytes = next_of_body(connection, record, &wanted);
            if (wanted == 0) break;
            ERR_clear_error();
            if (!SSL_write_ex(connection->tls, bytes, wanted, &sent)) return failed;
            if (body) {
                connection->body_left -= sent;
            } else {
                connection->out_offset += sent;
                if (connection->out_offset == connection->out_length)
                    connection->out_offset = connection->out_length = 0;
            }
        }
    }
}

// MARK: - Input

static enum progress receive_into(struct connection *connection, char *space, size_t room, size_t *received) {
    if (connection->tls) {
        ERR_clear_error();
        if (!SSL_read_ex(connection->tls, space, room, received)) {
            int error = SSL_get_error(connection->tls, 0);
            // The handshake's messages and alerts leave here too.
            if (drain_tls(connection) == failed || error != SSL_ERROR_WANT_READ) return failed;
            connection->readable = false;
            return blocked;
        }
    } else {
        ssize_t count = recv(connection->fd, space, room, 0);
        if (count == 0) return failed;
        if (count < 0) {
            connection->readable = false;
            return progress_of_errno();
        }
        *received = (size_t)count;
        if (*received < room) connection->readable = false;
    }
    return done;
}

static enum progress receive(struct connection *connection) {
    size_t room = sizeof connection->in - connection->in_length, received = 0;
    if (room == 0) return failed;
    enum progress progress = receive_into(connection, connection->in + connection->in_length, room, &received);
    connection->in_length += received;
    return progress;
}

static size_t format_head(char *out, const char *status, uint64_t length, const char *caching) {
    return (size_t)snprintf(out, response_room,
                            "HTTP/1.1 %s\r\n"
                            "Date: Fri, 21 Nov 2025 08:00:00 GMT\r\n"
                            "Server: bench/1.0 (Linux)\r\n"
                            "Content-Type: application/octet-stream\r\n"
                            "Content-Length: %llu\r\n"
                            "Last-Modified: Thu, 20 Nov 2025 21:14:07 GMT\r\n"
                            "ETag: \"691f84bf-64\"\r\n"
                            "Accept-Ranges: bytes\r\n"
                            "Cache-Control: %s\r\n"
                            "Vary: Accept-Encoding\r\n"
                            "X-Content-Type-Options: nosniff\r\n\r\n",
                            status, (unsigned long long)length, caching);
}

static void respond(struct connection *connection, const char *status, uint64_t length) {
    connection->out_length += format_head(connection->out + connection->out_length, status, length, "no-cache");
    connection->body_left = length;
    connection->is_text = false;
}

static void respond_text(struct connection *connection, uint64_t length) {
    if (!text[0]) {
        memset(text, 'x', sizeof text);
        for (size_t end = line; end <= sizeof text; end += line) text[end - 1] = '\n';
    }
    respond(connection, "200 OK", length);
    connection->is_text = true;
}

/// What caches may do with a small response. The date of all is old, so a fresh one has to be fresh for long.
enum caching { validated, unstored, fresh };

/// The small responses never change, so each is formatted once.
static void respond_small(struct connection *connection, enum caching caching) {
    static const char *const directives[] = {"no-cache", "no-store", "max-age=2147483647"};
    static struct {
        char bytes[response_room + small_body];
        size_t length;
    } responses[sizeof directives / sizeof *directives];
    char *response = responses[caching].bytes;
    size_t length = responses[caching].length;
    if (length == 0) {
        length = format_head(response, "200 OK", small_body, directives[caching]);
        memset(response + length, 'x', small_body);
        length += small_body;
        responses[caching].length = length;
    }
    memcpy(connection->out + connection->out_length, response, length);
    connection->out_length += length;
}

void connection_release(struct connection *connection) {
    respond_small(connection, validated);
}

static bool header_says_close(const char *head, size_t length) {
    static const char field[] = "\r\nConnection: close\r\n";
    for (size_t at = 0; at + sizeof field - 1 <= length; at++)
        if (head[at] == '\r' && strncasecmp(head + at, field, sizeof field - 1) == 0) return true;
    return false;
}

/// Takes the request of so many bytes, and what follows it, from the input.
static enum progress begin_echo(struct connection *connection, size_t length) {
    char *out = connection->out + connection->out_length;
    size_t room = sizeof connection->out - connection->out_length;
    size_t response = echo_format_handshake(connection->in, out, room);
    if (response == 0) return failed;
    connection->out_length += response;
    connection->echo = echo_open(connection->in + length, connection->in_length - length);
    connection->in_length = 0;
    return connection->echo ? done : failed;
}

/// Answers one whole request from the start of the input. `blocked` when none is there.
static enum progress answer(struct connection *connection, uint64_t now) {
    char *end = memmem(connection->in, connection->in_length, "\r\n\r\n", 4);
    if (!end) return connection->in_length == sizeof connection->in ? failed : blocked;
    size_t length = (size_t)(end + 4 - connection->in);
    connection->closing = header_says_close(connection->in, length - 2);
    *end = '\0';
    unsigned long long number = 0;
    bool accepted = true;
    if (strncmp(connection->in, "GET /echo ", 10) == 0) return begin_echo(connection, length);
    if (strncmp(connection->in, "GET /small ", 11) == 0) {
        respond_small(connection, validated);
    } else if (strncmp(connection->in, "GET /unstored ", 14) == 0) {
        respond_small(connection, unstored);
    } else if (strncmp(connection->in, "GET /fresh", 10) == 0) {
        // With any query.
        respond_small(connection, fresh);
    } else if (sscanf(connection->in, "GET /bytes/%llu ", &number) == 1) {
        respond(connection, "200 OK", number);
    } else if (sscanf(connection->in, "GET /lines/%llu ", &number) == 1) {
        respond_text(connection, number);
    } else if (sscanf(connection->in, "GET /hold/%llu ", &number) == 1) {
        accepted = hold_add(connection, now + number * 1000000);
    } else {
        respond(connection, "404 Not Found", 0);
    }
    connection->in_length -= length;
    memmove(connection->in, connection->in + length, connection->in_length);
    return accepted ? done : failed;
}

// MARK: - Echo

/// Many records leave in one send.
static enum progress flush_echo(struct connection *connection) {
    size_t length;
    const char *bytes = echo_output(connection->echo, &length);
    while (length) {
        size_t sent = 0;
        if (!connection->tls) {
            ssize_t count = send(connection->fd, bytes, length, MSG_NOSIGNAL);
            if (count < 0) return progress_of_errno();
            sent = (size_t)count;
        } else {
            ERR_clear_error();
            if (!SSL_write_ex(connection->tls, bytes, length < record ? length : record, &sent)) return failed;
        }
        echo_sent(connection->echo, sent);
        bytes = echo_output(connection->echo, &length);
    }
    return connection->tls ? drain_tls(connection) : done;
}

/// True while the connection lasts.
static bool advance_echo(struct connection *connection) {
    for (;;) {
        enum progress flushed = flush_echo(connection);
        if (flushed != done) return flushed == blocked;
        if (echo_is_over(connection->echo)) return false;
        if (!connection->readable) return true;
        size_t room, received = 0;
        char *space = echo_room(connection->echo, &room);
        // OpenSSL reads a record at a time.
        enum progress progress = done;
        do {
            size_t count = 0;
            progress = receive_into(connection, space + received, room - received, &count);
            received += count;
        } while (progress == done && connection->tls && room - received >= record);
        if (progress == failed) return false;
        if (received && !echo_received(connection->echo, received)) return false;
    }
}

bool connection_advance(struct connection *connection, uint64_t now) {
    for (;;) {
        enum progress flushed = connection->tls ? flush_tls(connection) : flush_plain(connection);
        if (flushed != done) return flushed == blocked;
        if (connection->echo) return advance_echo(connection);
        if (connection->held) return true;
        if (connection->closing) return false;
        // Pipelined requests are answered together, as long as the room for responses lasts.
        enum progress answered = blocked;
        do {
            answered = answer(connection, now);
        } while (answered == done && !connection->echo && !connection->held && !connection->closing && !connection->body_left &&
                 connection->out_length + response_room + small_body <= sizeof connection->out);
        if (answered == failed) return false;
        if (answered == done || connection->out_length || connection->body_left) continue;
        if (!connection->readable) return true;
        enum progress received = receive(connection);
        if (received != done) return received == blocked;
    }
}
