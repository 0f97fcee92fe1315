#include "library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static struct clth_nghttp2 functions;
static bool is_loaded;

static void load(void) {
    // Never closed: threads may be in it until the process ends.
    void *library = dlopen("libnghttp2.so.14", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) library = dlopen("libnghttp2.so", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return;
    is_loaded = true;
#define FIND(name) \
    functions.name = (__typeof__(nghttp2_##name) *)dlsym(library, "nghttp2_" #name); \
    is_loaded = is_loaded && functions.name != NULL;
    CLTH_FUNCTIONS(FIND)
#undef FIND
}

const struct clth_nghttp2 *clth_nghttp2(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded ? &functions : NULL;
}
