#include "failure.h"

#include "openssl.h"

clt_failure clt_failure_take(const char *fallback) {
    clt_failure failure = { .alert = -1, .reason = fallback };
    unsigned long error = ERR_peek_error();
    if (error == 0) return failure;
    const char *reason = ERR_reason_error_string(error);
    if (reason != NULL) failure.reason = reason;
    if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
        int alert = ERR_GET_REASON(error) - SSL_AD_REASON_OFFSET;
        if (alert >= 0 && alert <= 255) failure.alert = alert;
    }
    ERR_clear_error();
    return failure;
}
