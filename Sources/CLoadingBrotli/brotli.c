#include "CLoadingBrotli.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;
// Written once, before its address is known to other threads.
static struct clb_functions functions;

static bool load(void) {
    // Never closed: threads may be in it until the process is gone. A program that has linked the same library shares it.
    void *library = dlopen("libbrotlidec.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) library = dlopen("libbrotlidec.so", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return false;
#define FIND(name) \
    functions.name = (__typeof__(name) *)dlsym(library, #name); \
    if (functions.name == NULL) return false;
    CLB_FUNCTIONS(FIND)
#undef FIND
    return true;
}

const struct clb_functions *clb_load(void) {
    pthread_mutex_lock(&mutex);
    if (!is_loaded) is_loaded = load();
    bool result = is_loaded;
    pthread_mutex_unlock(&mutex);
    return result ? &functions : NULL;
}
