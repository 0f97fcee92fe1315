#include "CLoadingGSSAPI.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The types of RFC 2744 as every library on Linux has them. They stand here so that building needs no headers of a
// library that may not be there at run time either.

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

typedef struct name_structure *name;
typedef struct credential_structure *credential;
typedef struct context_structure *context;

enum {
    USAGE_INITIATE = 1,
    FLAG_MUTUAL = 2,
    FLAG_REPLAY = 4,
    CONTINUE_NEEDED = 1,
};

// Routine and calling errors; the rest of a status is information.
static bool is_error(uint32_t major) { return (major & 0xFFFF0000u) != 0; }

static struct {
    uint32_t (*import_name)(uint32_t *, buffer *, object_identifier *, name *);
    uint32_t (*release_name)(uint32_t *, name *);
    uint32_t (*init_sec_context)(
        uint32_t *, credential, context *, name, object_identifier *, uint32_t, uint32_t, channel_bindings *, buffer *,
        object_identifier **, buffer *, uint32_t *, uint32_t *);
    uint32_t (*delete_sec_context)(uint32_t *, context *, buffer *);
    uint32_t (*acquire_cred)(
        uint32_t *, name, uint32_t, object_identifier_set *, int, credential *, object_identifier_set **, uint32_t *);
    uint32_t (*acquire_cred_with_password)(
        uint32_t *, name, buffer *, uint32_t, object_identifier_set *, int, credential *, object_identifier_set **,
        uint32_t *);
    uint32_t (*set_neg_mechs)(uint32_t *, credential, const object_identifier_set *);
    uint32_t (*release_cred)(uint32_t *, credential *);
    uint32_t (*release_buffer)(uint32_t *, buffer *);
    uint32_t (*indicate_mechs)(uint32_t *, object_identifier_set **);
    uint32_t (*release_oid_set)(uint32_t *, object_identifier_set **);
    bool is_loaded;
    bool knows_negotiate;
    bool knows_ntlm;
} library;

// 1.3.6.1.5.5.2, SPNEGO (RFC 4178)
static object_identifier negotiate_mechanism = {6, "\x2b\x06\x01\x05\x05\x02"};
// 1.2.840.113554.1.2.2, Kerberos (RFC 4121)
static object_identifier kerberos_mechanism = {9, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"};
// 1.3.6.1.4.1.311.2.2.10, NTLM
static object_identifier ntlm_mechanism = {10, "\x2b\x06\x01\x04\x01\x82\x37\x02\x02\x0a"};
// 1.2.840.113554.1.2.1.4, a service on a host (RFC 2743 section 4.1)
static object_identifier service_name = {10, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04"};
// 1.2.840.113554.1.2.1.1, a user (RFC 2743 section 4.2)
static object_identifier user_name = {10, "\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x01"};

static bool has_mechanism(const object_identifier_set *set, const object_identifier *mechanism) {
    for (size_t index = 0; index < set->count; index++) {
        const object_identifier *element = &set->elements[index];
        if (element->length == mechanism->length
            && memcmp(element->elements, mechanism->elements, mechanism->length) == 0) {
            return true;
        }
    }
    return false;
}

static void load(void) {
    void *handle = dlopen("libgssapi_krb5.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return;
    const struct {
        const char *symbol;
        void **function;
    } functions[] = {
        {"gss_import_name", (void **)&library.import_name},
        {"gss_release_name", (void **)&library.release_name},
        {"gss_init_sec_context", (void **)&library.init_sec_context},
        {"gss_delete_sec_context", (void **)&library.delete_sec_context},
        {"gss_acquire_cred", (void **)&library.acquire_cred},
        {"gss_acquire_cred_with_password", (void **)&library.acquire_cred_with_password},
        {"gss_set_neg_mechs", (void **)&library.set_neg_mechs},
        {"gss_release_cred", (void **)&library.release_cred},
        {"gss_release_buffer", (void **)&library.release_buffer},
        {"gss_indicate_mechs", (void **)&library.indicate_mechs},
        {"gss_release_oid_set", (void **)&library.release_oid_set},
    };
    for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
        *functions[index].function = dlsym(handle, functions[index].symbol);
        if (*functions[index].function == NULL) return;
    }
    uint32_t minor;
    object_identifier_set *mechanisms = NULL;
    if (is_error(library.indicate_mechs(&minor, &mechanisms)) || mechanisms == NULL) return;
    library.knows_negotiate = has_mechanism(mechanisms, &negotiate_mechanism);
    library.knows_ntlm = has_mechanism(mechanisms, &ntlm_mechanism);
    library.release_oid_set(&minor, &mechanisms);
    library.is_loaded = true;
}

static pthread_once_t loading = PTHREAD_ONCE_INIT;

bool clg_is_supported(clg_mechanism mechanism) {
    pthread_once(&loading, load);
    if (!library.is_loaded) return false;
    return mechanism == CLG_NTLM ? library.knows_ntlm : library.knows_negotiate;
}

struct clg_conversation {
    object_identifier *mechanism;
    name peer;
    credential user;
    context context;
    buffer token;
    // No addresses, of the type GSS_C_AF_UNSPEC, which is 0. Without data there is no binding.
    channel_bindings bindings;
};

clg_conversation *clg_begin(clg_mechanism mechanism, const char *host) {
    if (!clg_is_supported(mechanism)) return NULL;
    clg_conversation *conversation = calloc(1, sizeof *conversation);
    if (conversation == NULL) return NULL;
    conversation->mechanism = mechanism == CLG_NTLM ? &ntlm_mechanism : &negotiate_mechanism;
    size_t length = strlen(host) + sizeof "HTTP@";
    char *text = malloc(length);
    if (text != NULL) {
        snprintf(text, length, "HTTP@%s", host);
        uint32_t minor;
        buffer peer = {length - 1, text};
        if (is_error(library.import_name(&minor, &peer, &service_name, &conversation->peer))) {
            conversation->peer = NULL;
        }
        free(text);
    }
    if (conversation->peer == NULL) {
        clg_end(conversation);
        return NULL;
    }
    return conversation;
}

bool clg_bind(clg_conversation *conversation, const uint8_t *data, size_t count) {
    void *copy = malloc(count);
    if (copy == NULL) return false;
    memcpy(copy, data, count);
    free(conversation->bindings.application_data.value);
    conversation->bindings.application_data = (buffer){count, copy};
    return true;
}

bool clg_use_ticket(clg_conversation *conversation) {
    if (conversation->mechanism != &negotiate_mechanism) return false;
    uint32_t minor;
    object_identifier_set negotiate = {1, &negotiate_mechanism}, kerberos = {1, &kerberos_mechanism};
    if (is_error(library.acquire_cred(
            &minor, NULL, UINT32_MAX, &negotiate, USAGE_INITIATE, &conversation->user, NULL, NULL))) {
        return false;
    }
    // SPNEGO would also take another mechanism that has a user of its own, as NTLM may have one in a file.
    return !is_error(library.set_neg_mechs(&minor, conversation->user, &kerberos));
}

bool clg_use_password(clg_conversation *conversation, const char *user, const char *password) {
    uint32_t minor;
    name name = NULL;
    buffer text = {strlen(user), (void *)user};
    if (is_error(library.import_name(&minor, &text, &user_name, &name))) return false;
    buffer secret = {strlen(password), (void *)password};
    object_identifier_set mechanisms = {1, conversation->mechanism};
    uint32_t major = library.acquire_cred_with_password(
        &minor, name, &secret, UINT32_MAX, &mechanisms, USAGE_INITIATE, &conversation->user, NULL, NULL);
    library.release_name(&minor, &name);
    return !is_error(major);
}

clg_outcome clg_step(
    clg_conversation *conversation, const uint8_t *input, size_t input_count, const uint8_t **output,
    size_t *output_count) {
    uint32_t minor;
    library.release_buffer(&minor, &conversation->token);
    buffer received = {input_count, (void *)input};
    bool is_bound = conversation->bindings.application_data.length > 0;
    uint32_t major = library.init_sec_context(
        &minor, conversation->user, &conversation->context, conversation->peer, conversation->mechanism,
        FLAG_MUTUAL | FLAG_REPLAY, 0, is_bound ? &conversation->bindings : NULL, input_count > 0 ? &received : NULL, NULL,
        &conversation->token, NULL, NULL);
    *output = conversation->token.value;
    *output_count = conversation->token.length;
    if (is_error(major)) return CLG_FAILED;
    return (major & CONTINUE_NEEDED) != 0 ? CLG_CONTINUES : CLG_COMPLETE;
}

void clg_end(clg_conversation *conversation) {
    uint32_t minor;
    if (conversation->context != NULL) library.delete_sec_context(&minor, &conversation->context, NULL);
    if (conversation->user != NULL) library.release_cred(&minor, &conversation->user);
    if (conversation->peer != NULL) library.release_name(&minor, &conversation->peer);
    library.release_buffer(&minor, &conversation->token);
    free(conversation->bindings.application_data.value);
    free(conversation);
}
