#if defined(__has_include) && !__has_include(<openssl/ssl.h>)
#error "OpenSSL's headers are missing: install libssl-dev (Debian, Ubuntu) or openssl-devel (Fedora)"
#endif

#include <openssl/ssl.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <openssl/x509_vfy.h>
#include <openssl/pkcs12.h>
