#include "CTestGSSAPI.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// The types of RFC 2744, and of the extension for stores of credentials.

typedef struct {
    size_t length;
    void *value;
} buffer;

typedef struct {
    uint32_t length;
    void *elements;
} object_identifier;

typedef struct {
    size_t count;
    object_identifier *elements;
} object_identifier_set;

typedef struct {
    uint32_t initiator_address_type;
    buffer initiator_address;
    uint32_t acceptor_address_type;
    buffer acceptor_address;
    buffer application_data;
} channel_bindings;

typedef struct {
    const char *key;
    const char *value;
} store_element;

typedef struct {
    uint32_t count;
    store_element *elements;
} store;

enum {
    USAGE_ACCEPT = 2,
    FLAG_CHANNEL_BOUND = 2048,
    CONTINUE_NEEDED = 1,
};

static bool is_error(uint32_t major) { return (major & 0xFFFF0000u) != 0; }

// 1.3.6.1.5.5.2, SPNEGO (RFC 4178)
static object_identifier negotiate_mechanism = {6, "\x2b\x06\x01\x05\x05\x02"};
// 1.3.6.1.4.1.311.2.2.10, NTLM
static object_identifier ntlm_mechanism = {10, "\x2b\x06\x01\x04\x01\x82\x37\x02\x02\x0a"};

static struct {
    uint32_t (*acquire_cred_from)(
        uint32_t *, void *, uint32_t, object_identifier_set *, int, const store *, void **, void *, uint32_t *);
    uint32_t (*accept_sec_context)(
        uint32_t *, void **, void *, buffer *, channel_bindings *, void *, void *, buffer *, uint32_t *, uint32_t *,
        void *);
    uint32_t (*delete_sec_context)(uint32_t *, void **, buffer *);
    uint32_t (*release_cred)(uint32_t *, void **);
    uint32_t (*release_buffer)(uint32_t *, buffer *);
    bool is_loaded;
} library;

static void load(void) {
    void *handle = dlopen("libgssapi_krb5.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return;
    library.acquire_cred_from = dlsym(handle, "gss_acquire_cred_from");
    library.accept_sec_context = dlsym(handle, "gss_accept_sec_context");
    library.delete_sec_context = dlsym(handle, "gss_delete_sec_context");
    library.release_cred = dlsym(handle, "gss_release_cred");
    library.release_buffer = dlsym(handle, "gss_release_buffer");
    library.is_loaded = library.acquire_cred_from && library.accept_sec_context && library.delete_sec_context
        && library.release_cred && library.release_buffer;
}

static pthread_once_t loading = PTHREAD_ONCE_INIT;

struct ctg_acceptor {
    void *credential;
    void *context;
    buffer answer;
    channel_bindings bindings;
};

ctg_acceptor *ctg_acceptor_create(const char *keytab, const uint8_t *bindings, size_t count) {
    pthread_once(&loading, load);
    if (!library.is_loaded) return NULL;
    ctg_acceptor *acceptor = calloc(1, sizeof *acceptor);
    if (acceptor == NULL) return NULL;
    if (bindings != NULL) {
        acceptor->bindings.application_data = (buffer){count, malloc(count)};
        memcpy(acceptor->bindings.application_data.value, bindings, count);
    }
    uint32_t minor;
    object_identifier_set mechanisms = {1, keytab != NULL ? &negotiate_mechanism : &ntlm_mechanism};
    // No replay cache.
    store_element elements[] = {{"keytab", keytab}, {"rcache", "none:"}};
    store store = {2, elements};
    uint32_t major = library.acquire_cred_from(
        &minor, NULL, UINT32_MAX, &mechanisms, USAGE_ACCEPT, keytab != NULL ? &store : NULL, &acceptor->credential, NULL,
        NULL);
    if (!is_error(major)) return acceptor;
    ctg_acceptor_free(acceptor);
    return NULL;
}

ctg_outcome ctg_accept(
    ctg_acceptor *acceptor, const uint8_t *token, size_t token_count, const uint8_t **answer, size_t *answer_count,
    bool *is_bound) {
    uint32_t minor, flags = 0;
    library.release_buffer(&minor, &acceptor->answer);
    buffer received = {token_count, (void *)token};
    bool checks = acceptor->bindings.application_data.value != NULL;
    uint32_t major = library.accept_sec_context(
        &minor, &acceptor->context, acceptor->credential, &received, checks ? &acceptor->bindings : NULL, NULL, NULL,
        &acceptor->answer, &flags, NULL, NULL);
    *answer = acceptor->answer.value;
    *answer_count = acceptor->answer.length;
    *is_bound = (flags & FLAG_CHANNEL_BOUND) != 0;
    if (is_error(major)) return CTG_REFUSED;
    return (major & CONTINUE_NEEDED) != 0 ? CTG_CONTINUES : CTG_ACCEPTED;
}

void ctg_acceptor_free(ctg_acceptor *acceptor) {
    uint32_t minor;
    if (acceptor->context != NULL) library.delete_sec_context(&minor, &acceptor->context, NULL);
    if (acceptor->credential != NULL) library.release_cred(&minor, &acceptor->credential);
    library.release_buffer(&minor, &acceptor->answer);
    free(acceptor->bindings.application_data.value);
    free(acceptor);
}
