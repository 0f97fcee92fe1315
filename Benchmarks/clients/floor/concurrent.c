#include "floor.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { events_a_turn = 512, room = 1024 };

struct exchange {
    int fd;
    int asked;
    size_t length;
    char bytes[room];
};

/// True when the exchange has ended, with a whole response or an error; false when more input is needed.
static int receive_response(const struct workload *workload, struct exchange *exchange, struct totals *totals) {
    ssize_t received = recv(exchange->fd, exchange->bytes + exchange->length, room - exchange->length, 0);
    if (received < 0 && errno == EAGAIN) return 0;
    if (received <= 0) {
        totals->errors++;
        return 1;
    }
    exchange->length += (size_t)received;
    struct head head;
    size_t head_length = parse_head(exchange->bytes, exchange->length, &head);
    if (!head_length || exchange->length < head_length + head.content_length) return 0;
    totals->bytes += head.content_length;
    if (head.status != 200 || head.content_length != workload->body) totals->errors++;
    exchange->length = 0;
    return 1;
}

void run_concurrent(const struct workload *workload, struct totals *totals) {
    char request[512];
    size_t request_length = format_request(workload, request, sizeof request);
    long connections = workload->connections < workload->concurrency ? workload->connections : workload->concurrency;
    long started = 0;
    struct exchange *exchanges = calloc((size_t)connections, sizeof *exchanges);
    int poller = epoll_create1(EPOLL_CLOEXEC);
    for (long index = 0; index < connections && exchanges; index++) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = &exchanges[index]};
        exchanges[index].fd = open_connection(workload, SOCK_NONBLOCK);
        if (epoll_ctl(poller, EPOLL_CTL_ADD, exchanges[index].fd, &event) != 0) totals->errors++;
    }
    while (totals->requests < workload->requests && totals->errors == 0) {
        struct epoll_event events[events_a_turn];
        int count = epoll_wait(poller, events, events_a_turn, -1);
        for (int index = 0; index < count; index++) {
            struct exchange *exchange = events[index].data.ptr;
            int idle = !exchange->asked && (events[index].events & EPOLLOUT);
            if (exchange->asked && (events[index].events & (EPOLLIN | EPOLLHUP))) {
                idle = receive_response(workload, exchange, totals);
                totals->requests += idle;
            }
            if (!idle || started == workload->requests) continue;
            started++;
            exchange->asked = 1;
            if (send(exchange->fd, request, request_length, 0) != (ssize_t)request_length) totals->errors++;
        }
    }
    free(exchanges);
}
