// The benchmark's HTTP/1.1 server: as little work a request as HTTP allows, so that the clients are what is measured.
//
//   GET /small     100 bytes        GET /bytes/N   N zeros        GET /hold/MS   100 bytes after MS milliseconds
//   GET /lines/N   N bytes in lines of 64
//   GET /echo      a WebSocket that sends every message back
//
// usage: server [TLS-DIRECTORY]
// Listens on free ports of 127.0.0.1, prints them as one line of JSON, and ends when its standard input does.
#define _GNU_SOURCE
#include "connection.h"
#include "hold.h"
#include "tls.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// Thousands of connections leave their ports in TIME_WAIT: the driver goes to the next listener for each such run.
enum { plain_listeners = 32, events_a_turn = 512 };

struct listener {
    int fd;
    int port;
    SSL_CTX *tls;
};

static struct listener listeners[plain_listeners + 1];
static int listener_count;

static uint64_t monotonic_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int watch(int poller, int fd, void *tag, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = tag};
    return epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

static int add_listener(int poller, SSL_CTX *tls) {
    struct listener *listener = &listeners[listener_count];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    listener->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    listener->tls = tls;
    if (listener->fd < 0 || bind(listener->fd, (struct sockaddr *)&address, length) != 0 ||
        listen(listener->fd, 65535) != 0 || getsockname(listener->fd, (struct sockaddr *)&address, &length) != 0 ||
        watch(poller, listener->fd, listener, EPOLLIN) != 0)
        return -1;
    listener->port = ntohs(address.sin_port);
    listener_count++;
    return 0;
}

static int is_listener(const void *tag) {
    return tag >= (const void *)listeners && tag < (const void *)(listeners + listener_count);
}

static void accept_all(int poller, struct listener *listener) {
    for (;;) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct connection *connection = connection_open(fd, listener->tls);
        if (connection && watch(poller, fd, connection, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) != 0)
            connection_close(connection);
    }
}

static void serve(int poller) {
    struct epoll_event events[events_a_turn];
    for (;;) {
        int count = epoll_wait(poller, events, events_a_turn, hold_milliseconds_to_next(monotonic_now()));
        uint64_t now = monotonic_now();
        for (int index = 0; index < count; index++) {
            void *tag = events[index].data.ptr;
            if (!tag) return; // standard input: the driver has gone
            if (is_listener(tag)) {
                accept_all(poller, tag);
                continue;
            }
            struct connection *connection = tag;
            if (events[index].events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) connection->readable = true;
            if (!connection_advance(connection, now)) connection_close(connection);
        }
        struct connection *due;
        while ((due = hold_take_due(now))) {
            connection_release(due);
            if (!connection_advance(due, now)) connection_close(due);
        }
    }
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    int poller = epoll_create1(EPOLL_CLOEXEC);
    SSL_CTX *tls = argc > 1 ? tls_make_context(argv[1]) : NULL;
    if (poller < 0 || (argc > 1 && !tls)) return 1;
    for (int index = 0; index < plain_listeners; index++)
        if (add_listener(poller, NULL) != 0) return perror("server: listen"), 1;
    if (tls && add_listener(poller, tls) != 0) return perror("server: listen"), 1;
    printf("{\"http\":[");
    for (int index = 0; index < plain_listeners; index++)
        printf("%s%d", index ? "," : "", listeners[index].port);
    printf("],\"https\":[");
    if (tls) printf("%d", listeners[plain_listeners].port);
    printf("]}\n");
    fflush(stdout);
    if (watch(poller, STDIN_FILENO, NULL, EPOLLIN | EPOLLHUP) != 0) return perror("server: standard input"), 1;
    serve(poller);
    return 0;
}
