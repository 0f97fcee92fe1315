#include "openssl.h"

#include "CLoadingTLS.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct function {
    _Atomic(void *) address;
    const char *name;
};

// In openssl.S.
extern struct function clt_openssl_functions[], clt_openssl_functions_end[];
bool clt_openssl_load(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_loaded;
// The loader's error message, for the calling thread.
static _Thread_local char reason[256];

static bool refuse(void) {
    const char *text = dlerror();
    snprintf(reason, sizeof reason, "%s", text != NULL ? text : "libssl.so.3 cannot be loaded");
    return false;
}

static bool load(void) {
    // Never closed: threads may be in it until the process ends. Other code that links the same libraries shares them.
    void *ssl = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
    if (ssl == NULL) {
        refuse();
        ssl = dlopen("libssl.so", RTLD_NOW | RTLD_LOCAL);
    }
    if (ssl == NULL) return false;
    // What libssl depends on is found through it too.
    for (struct function *function = clt_openssl_functions; function < clt_openssl_functions_end; function++)
        if (dlsym(ssl, function->name) == NULL) return refuse();
    __typeof__(OPENSSL_init_crypto) *initialize =
        (__typeof__(OPENSSL_init_crypto) *)dlsym(ssl, "OPENSSL_init_crypto");
    if (initialize == NULL) return refuse();
    // OpenSSL must not tear itself down at exit while other threads are still in it. It decides that with its first call, whichever
    // that is, so this has to come before all others: before the addresses, which other threads use as soon as they are stored.
    initialize(OPENSSL_INIT_NO_ATEXIT, NULL);
    for (struct function *function = clt_openssl_functions; function < clt_openssl_functions_end; function++)
        atomic_store(&function->address, dlsym(ssl, function->name));
    return true;
}

// Called by whichever function is called first. A failure is not for ever: there may have been no descriptor left.
bool clt_openssl_load(void) {
    pthread_mutex_lock(&mutex);
    if (!is_loaded) is_loaded = load();
    pthread_mutex_unlock(&mutex);
    return is_loaded;
}

const char *clt_library_failure(void) { return clt_openssl_load() ? NULL : reason; }
