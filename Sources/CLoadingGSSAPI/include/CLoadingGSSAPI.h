// Conversations of GSSAPI (RFC 2743, RFC 2744) by the system's library, which is looked for when the first one begins:
// a program need not have it. Functions that may wait for a network have a comment.
#ifndef C_LOADING_GSSAPI_H
#define C_LOADING_GSSAPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clg_conversation clg_conversation;

typedef enum {
    CLG_NEGOTIATE,
    CLG_NTLM,
} clg_mechanism;

typedef enum {
    // The peer has to answer the token.
    CLG_CONTINUES,
    // Nothing more is expected; there may be a last token for the peer.
    CLG_COMPLETE,
    CLG_FAILED,
} clg_outcome;

// Whether a library supports the mechanism. Reads files.
bool clg_is_supported(clg_mechanism mechanism);

// A conversation with the HTTP server of that name. NULL without a library or memory. Before its first step one of the two
// functions for users sets its user; if that fails, the conversation must not begin.
clg_conversation *clg_begin(clg_mechanism mechanism, const char *host);

// Before the first step: binds the conversation to a channel with this application data (RFC 2744 section 3.11), of at least one
// byte. False without memory.
bool clg_bind(clg_conversation *conversation, const uint8_t *data, size_t count);

// The user of the system's Kerberos ticket. False also for NTLM, which has no tickets. May wait for a network.
bool clg_use_ticket(clg_conversation *conversation);

// The user's with that password. May wait for a network.
bool clg_use_password(clg_conversation *conversation, const char *user, const char *password);

// Takes the peer's token, none at first, and gives the next one. May wait for a network. The token is the conversation's
// and lasts until the next step.
clg_outcome clg_step(
    clg_conversation *conversation, const uint8_t *input, size_t input_count, const uint8_t **output,
    size_t *output_count);

void clg_end(clg_conversation *conversation);

#endif
