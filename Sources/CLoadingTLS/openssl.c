#include "openssl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct function {
    _Atomic(void *) address;
    const char *name;
};

// In openssl.S.
extern struct function clt_openssl_functions[], clt_openssl_functions_end[];
void clt_openssl_load(void);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Bool is_loaded;

// Stands in for all functions where there is no OpenSSL: nothing can be made, so nothing is ever used.
static long unavailable(void) { return 0; }

static void load(void) {
    // Never closed: threads may be in it until the process is gone. Whoever else has linked the same libraries shares
    // them with us.
    void *ssl = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
    if (ssl == NULL) ssl = dlopen("libssl.so", RTLD_NOW | RTLD_LOCAL);
    // What libssl depends on is found through it too.
    is_loaded = ssl != NULL;
    for (struct function *function = clt_openssl_functions; function < clt_openssl_functions_end; function++) {
        void *address = ssl == NULL ? NULL : dlsym(ssl, function->name);
        if (address == NULL) is_loaded = 0;
    }
    for (struct function *function = clt_openssl_functions; function < clt_openssl_functions_end; function++)
        atomic_store(&function->address, is_loaded ? dlsym(ssl, function->name) : (void *)unavailable);
}

// Called by whichever function is called first.
void clt_openssl_load(void) { pthread_once(&once, load); }

_Bool clt_openssl_is_loaded(void) {
    clt_openssl_load();
    return is_loaded;
}
