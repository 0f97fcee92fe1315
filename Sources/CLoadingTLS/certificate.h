// The time of a certificate or of an OCSP response.
#ifndef CLT_CERTIFICATE_H
#define CLT_CERTIFICATE_H

#include "openssl.h"

#include <stdbool.h>
#include <stdint.h>

// In seconds since 1970. False when it is not written in a way that can be understood.
bool clt_seconds_of(const ASN1_TIME *moment, int64_t *seconds);

#endif
