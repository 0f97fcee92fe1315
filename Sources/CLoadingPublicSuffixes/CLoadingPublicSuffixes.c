#include "CLoadingPublicSuffixes.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

// What libpsl calls its types, so that building needs none of its headers.
typedef struct psl_ctx_st list;

enum {
    // Suffixes of registries, as ICANN has them.
    REGISTRY_TYPE = 1,
    // Those and what others have entered, such as hosters.
    ANY_TYPE = 3,
};

static struct {
    list *suffixes;
    int (*is_public_suffix)(const list *, const char *, int);
} library;

static pthread_once_t loading = PTHREAD_ONCE_INIT;

static void load(void) {
    void *handle = dlopen("libpsl.so.5", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return;
    // The newer one of the list in the library and the list of the system. Lives as long as the process.
    list *(*latest)(const char *) = (list * (*)(const char *)) dlsym(handle, "psl_latest");
    library.is_public_suffix = (int (*)(const list *, const char *, int))dlsym(handle, "psl_is_public_suffix2");
    if (latest == NULL || library.is_public_suffix == NULL) return;
    library.suffixes = latest(NULL);
}

void clp_read(void) { pthread_once(&loading, load); }

bool clp_is_public_suffix(const char *domain) {
    clp_read();
    if (library.suffixes == NULL) return false;
    return library.is_public_suffix(library.suffixes, domain, ANY_TYPE) == 1;
}

clp_answer clp_registry_suffix(const char *domain) {
    clp_read();
    if (library.suffixes == NULL) return CLP_HAS_NO_LIST;
    return library.is_public_suffix(library.suffixes, domain, REGISTRY_TYPE) == 1 ? CLP_IS_SUFFIX : CLP_IS_NO_SUFFIX;
}
