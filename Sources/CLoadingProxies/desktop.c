#define _GNU_SOURCE
#include "CLoadingProxies.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What libproxy calls its type, so that building needs none of its headers.
typedef struct pxProxyFactory_ factory;

static struct {
    factory *(*new)(void);
    char **(*get_proxies)(factory *, const char *);
    // Of libproxy before 0.4.16 there is none.
    void (*free_proxies)(char **);
    factory *factory;
    bool is_loaded;
    bool is_there;
} library;
static pthread_once_t loading = PTHREAD_ONCE_INIT;

static void load(void) {
    void *handle = dlopen("libproxy.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return;
    library.new = (factory * (*)(void)) dlsym(handle, "px_proxy_factory_new");
    library.get_proxies = (char **(*)(factory *, const char *))dlsym(handle, "px_proxy_factory_get_proxies");
    library.free_proxies = (void (*)(char **))dlsym(handle, "px_proxy_factory_free_proxies");
    library.is_loaded = library.new != NULL && library.get_proxies != NULL;
}

// Whether a readable file of that name lies beside the C library, where distributions put both.
static bool is_beside_c_library(const char *name) {
    Dl_info c_library;
    char path[PATH_MAX];
    if (dladdr((void *)(uintptr_t)&getenv, &c_library) == 0 || c_library.dli_fname == NULL) return false;
    const char *slash = strrchr(c_library.dli_fname, '/');
    if (slash == NULL) return false;
    int length = snprintf(path, sizeof path, "%.*s/%s", (int)(slash - c_library.dli_fname), c_library.dli_fname, name);
    return length > 0 && (size_t)length < sizeof path && access(path, R_OK) == 0;
}

static void find(void) {
    library.is_there = is_beside_c_library("libproxy.so.1");
    if (library.is_there) return;
    pthread_once(&loading, load);
    library.is_there = library.is_loaded;
}

bool clx_has_desktop(void) {
    static pthread_once_t finding = PTHREAD_ONCE_INIT;
    pthread_once(&finding, find);
    return library.is_there;
}

static void free_all(char **proxies) {
    if (library.free_proxies != NULL) return library.free_proxies(proxies);
    for (char **proxy = proxies; *proxy != NULL; proxy++) free(*proxy);
    free(proxies);
}

char *clx_ask_desktop(const char *url) {
    pthread_once(&loading, load);
    if (!library.is_loaded) return NULL;
    // Made where it is used, and kept: it follows the settings by itself.
    if (library.factory == NULL) library.factory = library.new();
    if (library.factory == NULL) return NULL;
    char **proxies = library.get_proxies(library.factory, url);
    if (proxies == NULL) return NULL;
    size_t size = 1;
    for (char **proxy = proxies; *proxy != NULL; proxy++) size += strlen(*proxy) + 1;
    char *text = malloc(size);
    if (text != NULL) {
        char *end = text;
        for (char **proxy = proxies; *proxy != NULL; proxy++) {
            end = stpcpy(end, *proxy);
            *end++ = '\n';
        }
        *end = 0;
    }
    free_all(proxies);
    return text;
}
