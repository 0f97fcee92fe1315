#include "CLoadingDBus.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

const char *const cld_library_name = "libdbus-1.so.3";

// As in libdbus's header, for 32 and 64 bits.
struct iterator {
    void *dummy1;
    void *dummy2;
    uint32_t dummy3;
    int dummy4, dummy5, dummy6, dummy7, dummy8, dummy9, dummy10, dummy11;
    int pad1;
    void *pad2;
    void *pad3;
};
static_assert(sizeof(cld_iterator) == sizeof(struct iterator), "libdbus writes as much");
static_assert(_Alignof(cld_iterator) == _Alignof(struct iterator), "libdbus writes there");

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;
// Written once, before its address is known to other threads.
static struct cld_functions functions;

static bool load(void) {
    // Never closed: threads may be in it until the process is gone. A program that has linked the same library shares
    // it.
    void *library = dlopen(cld_library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return false;
#define FIND(result, name, arguments) \
    functions.name = (__typeof__(functions.name))dlsym(library, "dbus_" #name); \
    if (functions.name == NULL) return false;
    CLD_FUNCTIONS(FIND)
#undef FIND
    return functions.threads_init_default() != 0;
}

const struct cld_functions *cld_load(void) {
    pthread_mutex_lock(&mutex);
    if (!is_loaded) is_loaded = load();
    bool result = is_loaded;
    pthread_mutex_unlock(&mutex);
    return result ? &functions : NULL;
}
