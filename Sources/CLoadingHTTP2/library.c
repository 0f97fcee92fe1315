#include "library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

struct clh_functions clh_library;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;

static bool load(void) {
    // Never closed: threads may be in it until the process is gone. A program that has linked the same library shares it.
    void *library = dlopen("libnghttp2.so.14", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) library = dlopen("libnghttp2.so", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return false;
#define FIND(name) clh_library.name = (__typeof__(nghttp2_##name) *)dlsym(library, "nghttp2_" #name);
#define REQUIRE(name) \
    FIND(name) \
    if (clh_library.name == NULL) return false;
    CLH_FUNCTIONS(REQUIRE)
    CLH_LATER_FUNCTIONS(FIND)
#undef REQUIRE
#undef FIND
    return true;
}

bool clh_load(void) {
    pthread_mutex_lock(&mutex);
    if (!is_loaded) is_loaded = load();
    bool result = is_loaded;
    pthread_mutex_unlock(&mutex);
    return result;
}
