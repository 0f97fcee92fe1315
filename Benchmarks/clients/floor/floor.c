#define _GNU_SOURCE
// The floor: what the same work costs in bare system calls. It reads the status and Content-Length of a response and
// nothing else, so nothing that calls itself an HTTP client can be cheaper.
#include "floor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

int open_connection(const struct workload *workload, int flags) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)workload->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0), on = 1;
    if (fd < 0) return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connect(fd, (struct sockaddr *)&address, sizeof address); // a failure shows at the first send
    return fd;
}

size_t format_request(const struct workload *workload, char *out, size_t room) {
    static const char format[] = "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAccept: */*\r\nUser-Agent: floor\r\n\r\n";
    int length = snprintf(out, room, format, workload->path, workload->port);
    return length < 0 ? 0 : (size_t)length;
}

size_t parse_head(const char *bytes, size_t length, struct head *head) {
    static const char field[] = "\r\nContent-Length: ";
    const char *end = memmem(bytes, length, "\r\n\r\n", 4);
    if (!end || length < 12) return 0;
    const char *found = memmem(bytes, (size_t)(end - bytes), field, sizeof field - 1);
    head->status = atoi(bytes + 9);
    head->content_length = found ? strtoull(found + sizeof field - 1, NULL, 10) : 0;
    return (size_t)(end + 4 - bytes);
}

int main(int argc, char **argv) {
    struct workload workload = workload_from_arguments(argc, argv, 65536);
    struct totals totals = {0};
    signal(SIGPIPE, SIG_IGN);
    meter_start();
    if (workload.tls) run_tls(&workload, &totals);
    else if (workload.concurrency > 1) run_concurrent(&workload, &totals);
    else run_sequential(&workload, &totals);
    return meter_report(&totals);
}
