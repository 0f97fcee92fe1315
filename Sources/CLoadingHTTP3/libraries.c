#ifdef LOADING_HTTP3

#include "libraries.h"

#include "CLoadingHTTP3.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct function {
    void *address;
    const char *name;
};

// In libraries.S.
extern struct function cl3_library_functions[], cl3_library_functions_end[];

// The headers' own versions: structures are laid out by them.
#if CL3_NGTCP2_IS_STABLE
static const char *const crypto_name = "libngtcp2_crypto_gnutls.so.8";
#else
static const char *const crypto_name = "libngtcp2_crypto_gnutls.so.2";
#endif
#if CL3_NGHTTP3_IS_STABLE
static const char *const http_name = "libnghttp3.so.9";
#else
static const char *const http_name = "libnghttp3.so.3";
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;
// The loader's message, for the calling thread.
static _Thread_local char reason[256];

static bool refuse(void) {
    const char *text = dlerror();
    snprintf(reason, sizeof reason, "%s", text != NULL ? text : "a library of HTTP/3's cannot be loaded");
    return false;
}

static bool load(void) {
    // Never closed: threads may be in them until the process is gone. ngtcp2 and GnuTLS are found through the helper,
    // which depends on both.
    void *crypto = dlopen(crypto_name, RTLD_NOW | RTLD_LOCAL);
    void *http = crypto ? dlopen(http_name, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (http == NULL) return refuse();
    for (struct function *function = cl3_library_functions; function < cl3_library_functions_end; function++) {
        bool is_http = strncmp(function->name, "nghttp3_", strlen("nghttp3_")) == 0;
        void *address = dlsym(is_http ? http : crypto, function->name);
        if (address == NULL) return refuse();
        function->address = address;
    }
    return true;
}

bool cl3_is_available(void) { return true; }

bool cl3_load(void) {
    pthread_mutex_lock(&mutex);
    if (!is_loaded) is_loaded = load();
    bool result = is_loaded;
    pthread_mutex_unlock(&mutex);
    return result;
}

const char *cl3_library_failure(void) { return cl3_load() ? NULL : reason; }

#endif
