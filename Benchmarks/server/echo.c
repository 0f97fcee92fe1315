#define _GNU_SOURCE
#include "echo.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { longest_header = 14, input_size = 128 * 1024, opcode_close = 8 };

// A frame's header shrinks by its mask, so what goes back is written over what has come, without a second buffer.
struct echo {
    /// Of the payload that is being echoed.
    uint64_t left;
    uint64_t mask;
    bool is_close;
    bool is_over;
    size_t output_at, output_end;
    /// The start of a header that has not come whole, which the next input follows.
    size_t kept_at, kept;
    char bytes[longest_header + input_size];
};

size_t echo_format_handshake(const char *head, char *out, size_t room) {
    static const char name[] = "\r\nSec-WebSocket-Key:", guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    const char *field = strcasestr(head, name);
    if (!field) return 0;
    field += sizeof name - 1;
    field += strspn(field, " ");
    char key[24 + sizeof guid] = {0};
    memcpy(key, field, strnlen(field, 24));
    memcpy(key + 24, guid, sizeof guid - 1);
    unsigned char digest[SHA_DIGEST_LENGTH], accept[32];
    SHA1((const unsigned char *)key, 24 + sizeof guid - 1, digest);
    EVP_EncodeBlock(accept, digest, sizeof digest);
    return (size_t)snprintf(out, room,
                            "HTTP/1.1 101 Switching Protocols\r\n"
                            "Upgrade: websocket\r\n"
                            "Connection: Upgrade\r\n"
                            "Sec-WebSocket-Accept: %s\r\n\r\n",
                            accept);
}

/// The mask, turned by as many octets as have been used of it.
static uint64_t turned(uint64_t mask, size_t octets) {
    unsigned shift = (octets & 3) * 8;
    return shift ? mask >> shift | mask << (64 - shift) : mask;
}

/// `to` may overlap `from` if it is not behind it.
static void unmask(char *to, const char *from, size_t length, uint64_t mask) {
    size_t at = 0;
    for (; at + 8 <= length; at += 8) {
        uint64_t word;
        memcpy(&word, from + at, 8);
        word ^= mask;
        memcpy(to + at, &word, 8);
    }
    for (; at < length; at++) to[at] = (char)(from[at] ^ (char)(mask >> (at & 7) * 8));
}

/// The header's length, with the mask; 0 when it has not come whole.
static size_t read_header(struct echo *echo, const unsigned char *bytes, size_t length) {
    if (length < 2) return 0;
    size_t header = 2, extended = (bytes[1] & 0x7F) == 127 ? 8 : (bytes[1] & 0x7F) == 126 ? 2 : 0;
    if (length < header + extended + 4) return 0;
    echo->left = extended ? 0 : bytes[1] & 0x7F;
    for (size_t index = 0; index < extended; index++) echo->left = echo->left << 8 | bytes[header + index];
    uint32_t mask;
    memcpy(&mask, bytes + header + extended, 4);
    echo->mask = (uint64_t)mask << 32 | mask;
    echo->is_close = (bytes[0] & 0x0F) == opcode_close;
    return header + extended + 4;
}

bool echo_received(struct echo *echo, size_t count) {
    size_t at = longest_header - echo->kept, end = longest_header + count;
    size_t output = at;
    echo->output_at = at;
    echo->kept = 0;
    while (at < end && !echo->is_over) {
        if (!echo->left) {
            unsigned char *header = (unsigned char *)echo->bytes + at;
            size_t length = read_header(echo, header, end - at);
            if (!length) break;
            // Servers mask nothing, and take nothing that is not masked (RFC 6455 section 5.1).
            if (!(header[1] & 0x80)) return false;
            header[1] &= 0x7F;
            memmove(echo->bytes + output, header, length - 4);
            output += length - 4;
            at += length;
        }
        size_t here = echo->left < end - at ? (size_t)echo->left : end - at;
        unmask(echo->bytes + output, echo->bytes + at, here, echo->mask);
        echo->mask = turned(echo->mask, here);
        echo->left -= here;
        output += here;
        at += here;
        echo->is_over = echo->is_close && !echo->left;
    }
    echo->output_end = output;
    echo->kept_at = at;
    echo->kept = echo->is_over ? 0 : end - at;
    return true;
}

char *echo_room(struct echo *echo, size_t *room) {
    if (echo->kept) memmove(echo->bytes + longest_header - echo->kept, echo->bytes + echo->kept_at, echo->kept);
    echo->kept_at = longest_header - echo->kept;
    *room = input_size;
    return echo->bytes + longest_header;
}

struct echo *echo_open(const char *start, size_t length) {
    struct echo *echo = malloc(sizeof *echo);
    if (!echo) return NULL;
    memset(echo, 0, offsetof(struct echo, bytes));
    size_t room;
    char *input = echo_room(echo, &room);
    if (length <= room) memcpy(input, start, length);
    if (length <= room && echo_received(echo, length)) return echo;
    free(echo);
    return NULL;
}

void echo_close(struct echo *echo) {
    free(echo);
}

const char *echo_output(const struct echo *echo, size_t *length) {
    *length = echo->output_end - echo->output_at;
    return echo->bytes + echo->output_at;
}

void echo_sent(struct echo *echo, size_t count) {
    echo->output_at += count;
}

bool echo_is_over(const struct echo *echo) {
    return echo->is_over && echo->output_at == echo->output_end;
}
