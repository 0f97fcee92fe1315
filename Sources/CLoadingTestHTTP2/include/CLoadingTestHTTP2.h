// The server's side of HTTP/2 for tests: over nghttp2, which is loaded when it is needed.
//
// No function uses a descriptor. A connection may be used by one thread at a time. A callback may not call a function of its connection.

#ifndef C_LOADING_TEST_HTTP2_H
#define C_LOADING_TEST_HTTP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct clth_connection clth_connection;

// A field of a response, with the layout of `nghttp2_nv`. The name is in lower case.
typedef struct {
    uint8_t *name;
    uint8_t *value;
    size_t name_length;
    size_t value_length;
    uint8_t flags;  // 0
} clth_field;

typedef struct {
    // A field of a request, the pseudo-header fields first.
    void (*field)(
        void *owner, int32_t stream, const uint8_t *name, size_t name_length, const uint8_t *value, size_t value_length);
    void (*data)(void *owner, int32_t stream, const uint8_t *bytes, size_t count);
    // The request is complete.
    void (*request)(void *owner, int32_t stream);
    void (*closed)(void *owner, int32_t stream);
    // Writes at most `capacity` bytes of the body of a response. 0 for none until `clth_resume`, unless `is_last` is set.
    size_t (*body)(void *owner, int32_t stream, uint8_t *buffer, size_t capacity, bool *is_last);
} clth_callbacks;

// Whether nghttp2 is installed.
bool clth_is_available(void);

// NULL if memory is exhausted or nghttp2 is missing.
clth_connection *clth_connection_new(const clth_callbacks *callbacks, void *owner);
void clth_connection_free(clth_connection *connection);

// False if the bytes are not HTTP/2, or memory is exhausted.
bool clth_receive(clth_connection *connection, const uint8_t *bytes, size_t count);
// The next bytes for the client, valid until the next call. 0 for none, negative after a failure.
ptrdiff_t clth_send(clth_connection *connection, const uint8_t **bytes);
// Whether anything may still come or go.
bool clth_is_open(clth_connection *connection);

// Sends the head of a response; `:status` is the first field. With `has_body` the callback `body` supplies the body.
bool clth_respond(clth_connection *connection, int32_t stream, const clth_field *fields, size_t count, bool has_body);
// More of a body is there.
void clth_resume(clth_connection *connection, int32_t stream);
// RST_STREAM with INTERNAL_ERROR.
void clth_reset(clth_connection *connection, int32_t stream);
// GOAWAY with NO_ERROR: streams that are open are completed.
void clth_go_away(clth_connection *connection);

#endif
