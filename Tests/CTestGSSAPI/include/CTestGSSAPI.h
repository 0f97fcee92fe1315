#pragma once

// The server's side of GSSAPI (RFC 2743, RFC 2744), with channel bindings, which no packaged server of the tests checks. The system's
// library is loaded when it is needed.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ctg_acceptor ctg_acceptor;

typedef enum {
    CTG_CONTINUES,
    CTG_ACCEPTED,
    CTG_REFUSED,
} ctg_outcome;

// Accepts one client: with Negotiate and Kerberos if there is a keytab, else with NTLM, whose users are in the file that the
// environment names. `bindings` is the application data of the channel bindings, which may be NULL: then none are checked. NULL on failure.
ctg_acceptor *ctg_acceptor_create(const char *keytab, const uint8_t *bindings, size_t count);

// Takes the client's token. The answer is the acceptor's and lasts until the next call. `is_bound`: whether the client's bindings were
// there and are the same.
ctg_outcome ctg_accept(
    ctg_acceptor *acceptor, const uint8_t *token, size_t token_count, const uint8_t **answer, size_t *answer_count,
    bool *is_bound);

void ctg_acceptor_free(ctg_acceptor *acceptor);
