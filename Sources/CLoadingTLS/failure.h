// Turns OpenSSL's thread-local error queue into a clt_failure.
#ifndef CLT_FAILURE_H
#define CLT_FAILURE_H

#include "CLoadingTLS.h"

// Describes the oldest error in the queue, which is the cause of the others, and empties the queue. `fallback` names
// the cause when the queue is empty.
clt_failure clt_failure_take(const char *fallback);

#endif
