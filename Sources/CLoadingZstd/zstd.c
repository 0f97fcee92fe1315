#include "CLoadingZstd.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;
// Written once, before its address is known to other threads.
static struct clz_functions functions;

static bool load(void) {
    // Never closed: threads may be in it until the process is gone. A program that has linked the same library shares it.
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) library = dlopen("libzstd.so", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return false;
#define FIND(name) \
    functions.name = (__typeof__(name) *)dlsym(library, #name); \
    if (functions.name == NULL) return false;
    CLZ_FUNCTIONS(FIND)
#undef FIND
    return true;
}

const struct clz_functions *clz_load(void) {
    pthread_mutex_lock(&mutex);
    if (!is_loaded) is_loaded = load();
    bool result = is_loaded;
    pthread_mutex_unlock(&mutex);
    return result ? &functions : NULL;
}
