// A BIO over a non-blocking socket, made for few system calls and no buffer that outlives its use; or over another
// stream of TLS, which has the socket.
#ifndef CLT_SOCKET_H
#define CLT_SOCKET_H

#include "CLoadingTLS.h"
#include "openssl.h"

#include <stdbool.h>
#include <stdint.h>

// The socket's side of one stream. OpenSSL reads five bytes (a record's header), then the rest of the record.
// A call for a header brings it and what follows into `ahead`, a scratch buffer that all streams of a thread share; a call for more
// brings what is asked for straight into OpenSSL's buffer (recvmsg), and what follows it into `ahead`. What is left in there at the
// end of a call moves into `kept`.
typedef struct {
    int descriptor;
    clt_stream *below;    // in place of the descriptor, or NULL
    int32_t error;        // errno of a failed system call
    bool ended;           // the peer has closed its side
    bool drained;         // the last system call brought less than there was room for
    bool stops_drained;   // do not ask the socket again once it is drained
    bool is_flooded;      // nothing is read any more
    bool has_more;        // what is written is followed by more at once, so the kernel need not send it by itself
    const uint8_t *ahead;
    uint32_t ahead_count;
    uint32_t ahead_limit; // how much to take ahead
    uint8_t *kept;        // allocated; `ahead` points into it while it lasts
} clt_socket;

BIO *clt_socket_bio(clt_socket *socket);
// Put these around every call into OpenSSL: the first sets the stage, the second saves what was read ahead. False when
// there is no memory for it.
void clt_socket_begin(clt_socket *socket, size_t ahead_limit);
bool clt_socket_finish(clt_socket *socket);
void clt_socket_discard(clt_socket *socket);
// Whether the last read took all that the kernel, or the stream below, had.
bool clt_socket_is_empty(const clt_socket *socket);

#endif
