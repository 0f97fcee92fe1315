#define _GNU_SOURCE
#include "floor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { pipe_size = 1 << 20 };

/// Reads a head, and what came with it of the body, into `buffer`. Returns the body bytes there, -1 on failure.
static ssize_t receive_head(int fd, char *buffer, size_t size, struct head *head, size_t *head_length) {
    size_t length = 0;
    for (;;) {
        ssize_t received = recv(fd, buffer + length, size - length, 0);
        if (received <= 0) return -1;
        length += (size_t)received;
        *head_length = parse_head(buffer, length, head);
        if (*head_length) return (ssize_t)(length - *head_length);
        if (length == size) return -1;
    }
}

/// Moves `left` bytes from the socket to the file without their passing through this process.
static uint64_t splice_body(int fd, int file, uint64_t left) {
    int ends[2];
    uint64_t moved = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) return 0;
    fcntl(ends[1], F_SETPIPE_SZ, pipe_size);
    while (moved < left) {
        size_t wanted = left - moved < pipe_size ? (size_t)(left - moved) : pipe_size;
        ssize_t taken = splice(fd, NULL, ends[1], NULL, wanted, SPLICE_F_MOVE);
        if (taken <= 0) break;
        while (taken > 0) {
            ssize_t given = splice(ends[0], NULL, file, NULL, (size_t)taken, SPLICE_F_MOVE);
            if (given <= 0) goto end;
            taken -= given;
            moved += (uint64_t)given;
        }
    }
end:
    close(ends[0]);
    close(ends[1]);
    return moved;
}

static uint64_t discard_body(int fd, char *buffer, size_t size, uint64_t left) {
    uint64_t received = 0;
    while (received < left) {
        size_t wanted = left - received < size ? (size_t)(left - received) : size;
        ssize_t count = recv(fd, buffer, wanted, 0);
        if (count <= 0) break;
        received += (uint64_t)count;
    }
    return received;
}

void run_sequential(const struct workload *workload, struct totals *totals) {
    char request[512];
    size_t request_length = format_request(workload, request, sizeof request), size = (size_t)workload->buffer;
    char *buffer = malloc(size);
    int fd = open_connection(workload, 0), file = -1;
    if (workload->file) file = open(workload->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    for (; totals->requests < workload->requests && buffer; totals->requests++) {
        struct head head;
        size_t head_length;
        ssize_t with_head = -1;
        if (send(fd, request, request_length, 0) == (ssize_t)request_length)
            with_head = receive_head(fd, buffer, size, &head, &head_length);
        if (with_head < 0) {
            totals->errors++;
            break;
        }
        uint64_t received = (uint64_t)with_head, left = head.content_length - received;
        if (file >= 0) {
            if (write(file, buffer + head_length, (size_t)with_head) != with_head) totals->errors++;
            received += splice_body(fd, file, left);
        } else {
            received += discard_body(fd, buffer, size, left);
        }
        totals->bytes += received;
        if (head.status != 200 || received != workload->body) totals->errors++;
    }
    if (file >= 0 && close(file) != 0) totals->errors++;
    close(fd);
    free(buffer);
}
