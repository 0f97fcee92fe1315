#define _GNU_SOURCE
#include "openssl.h"

#include "CLoadingTestTLS.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static _Thread_local char failure[256];
static struct cltt_openssl functions;
static bool is_loaded;

const char *cltt_failure(void) { return failure; }

void cltt_set_failure(const char *reason) { snprintf(failure, sizeof failure, "%s", reason); }

void cltt_keep_error(const struct cltt_openssl *ssl) {
    ssl->ERR_error_string_n(ssl->ERR_peek_last_error(), failure, sizeof failure);
    ssl->ERR_clear_error();
}

static void load(void) {
    // Never closed. What libssl depends on is found through it too.
    void *library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return;
    is_loaded = true;
#define FIND(name) \
    functions.name = (__typeof__(functions.name))dlsym(library, #name); \
    is_loaded = is_loaded && functions.name != NULL;
    CLTT_FUNCTIONS(FIND)
#undef FIND
    // OpenSSL must not tear itself down at exit while threads of servers, or of the client, are still in it. It decides that with its
    // first call.
    if (is_loaded) functions.OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

const struct cltt_openssl *cltt_openssl(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (is_loaded) return &functions;
    cltt_set_failure("libssl.so.3 (OpenSSL 3) cannot be loaded");
    return NULL;
}
