#include "CLoadingSecretService.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Types of GLib's and libsecret's stable ABI, declared here so that the build does not need their headers. Opaque objects
// are `void *`.

typedef struct {
    uint32_t domain;
    int code;
    char *message;
} failure;

typedef struct list {
    void *data;
    struct list *next;
    struct list *previous;
} list;

typedef struct object_class {
    size_t type;
    void *construct_properties;
    void *(*constructor)(size_t type, unsigned count, void *properties);
} object_class;

typedef struct {
    size_t type;
    const char *name;
    unsigned class_size;
    unsigned instance_size;
} type_query;

typedef void (*ready_function)(void *source, void *result, void *data);
typedef void (*signal_function)(
    void *connection, const char *sender, const char *path, const char *interface, const char *name, void *parameters,
    void *data);

enum {
    SEARCH_ALL = 1 << 1,
    SEARCH_LOAD_SECRETS = 1 << 3,
    SERVICE_OPEN_SESSION = 1 << 1,
    CONNECTION_CLIENT = 1 << 0,
    CONNECTION_MESSAGE_BUS = 1 << 3,
    PRIORITY_DEFAULT = 0,
    BUS_NONE = 0,
    SECRET_IS_LOCKED = 2,
    IO_CANCELLED = 19,
};

enum {
    // Milliseconds. The first is the time for a user to type a password at a prompt.
    PROMPT_TIMEOUT = 60 * 1000,
    CANCEL_TIMEOUT = 1000,
};

// D-Bus errors that mean that the service is absent: unknown, without an owner, or not startable.
static bool means_absent(int code) { return code == 2 || code == 3 || (code >= 23 && code <= 34); }

static struct {
    void *(*context_new)(void);
    void (*context_unref)(void *);
    void (*context_push)(void *);
    void (*context_pop)(void *);
    int (*context_iteration)(void *, int);
    void *(*timeout_source_new)(unsigned);
    void (*source_set_callback)(void *, int (*)(void *), void *, void (*)(void *));
    unsigned (*source_attach)(void *, void *);
    void (*source_destroy)(void *);
    void (*source_unref)(void *);

    void *(*hash_new)(unsigned (*)(const void *), int (*)(const void *, const void *));
    int (*hash_insert)(void *, void *, void *);
    void *(*hash_lookup)(void *, const void *);
    void (*hash_unref)(void *);
    unsigned (*str_hash)(const void *);
    int (*str_equal)(const void *, const void *);
    void (*list_free)(list *);
    void (*error_free)(failure *);

    void *(*object_ref)(void *);
    void (*object_set)(void *, const char *, ...);
    object_class *(*class_peek_parent)(void *);
    size_t (*type_from_name)(const char *);
    void (*type_query)(size_t, type_query *);
    size_t (*type_register)(size_t, const char *, unsigned, void (*)(void *, void *), unsigned, void *, int);
    void (*object_unref)(void *);

    void *(*cancellable_new)(void);
    void (*cancellable_cancel)(void *);
    void *(*connection_new_sync)(const char *, int, void *, void *, failure **);
    void (*connection_close)(void *, void *, ready_function, void *);
    int (*connection_is_closed)(void *);
    unsigned (*signal_subscribe)(
        void *, const char *, const char *, const char *, const char *, const char *, int, signal_function, void *,
        void (*)(void *));
    void (*signal_unsubscribe)(void *, unsigned);
    void (*async_new)(size_t, int, void *, ready_function, void *, const char *, ...);
    void *(*async_new_finish)(void *, void *, failure **);
    void *(*result_source)(void *);
    uint32_t (*io_error)(void);
    uint32_t (*bus_error)(void);

    uint32_t (*secret_error)(void);
    size_t (*service_type)(void);
    void (*search)(void *, const void *, void *, int, void *, ready_function, void *);
    list *(*search_finish)(void *, void *, failure **);
    void (*store)(
        void *, const void *, void *, const char *, const char *, void *, void *, ready_function, void *);
    int (*store_finish)(void *, void *, failure **);
    void (*unlock)(void *, list *, void *, ready_function, void *);
    int (*unlock_finish)(void *, void *, list **, failure **);
    void (*collection)(void *, const char *, int, void *, ready_function, void *);
    void *(*collection_finish)(void *, failure **);
    int (*collection_locked)(void *);
    void *(*item_attributes)(void *);
    void *(*item_secret)(void *);
    int (*item_locked)(void *);
    uint64_t (*item_modified)(void *);
    void (*item_delete)(void *, void *, ready_function, void *);
    int (*item_delete_finish)(void *, void *, failure **);
    void *(*value_new)(const char *, ssize_t, const char *);
    const char *(*value_get)(void *, size_t *);
    void (*value_unref)(void *);
    // The subclass of SecretService whose instances have their own connection.
    size_t own_service_type;
    bool is_loaded;
} library;

static object_class *parent_class;

// SecretService would use the shared connection, on which GIO ends the process when the bus disconnects.
static void *construct(size_t type, unsigned count, void *properties) {
    void *service = parent_class->constructor(type, count, properties);
    library.object_set(service, "g-bus-type", BUS_NONE, NULL);
    return service;
}

static void prepare_class(void *class, void *data) {
    parent_class = library.class_peek_parent(class);
    ((object_class *)class)->constructor = construct;
}

static size_t make_type(void) {
    const char *name = "CLoadingSecretService";
    // Another copy of this library in the process may have registered it.
    size_t type = library.type_from_name(name);
    if (type != 0) return type;
    type_query parent;
    library.type_query(library.service_type(), &parent);
    if (parent.type == 0) return 0;
    return library.type_register(parent.type, name, parent.class_size, prepare_class, parent.instance_size, NULL, 0);
}

static void load(void) {
    // dlsym also searches the dependencies of libsecret.
    void *handle = dlopen("libsecret-1.so.0", RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return;
    const struct {
        const char *symbol;
        void **function;
    } functions[] = {
        {"g_main_context_new", (void **)&library.context_new},
        {"g_main_context_unref", (void **)&library.context_unref},
        {"g_main_context_push_thread_default", (void **)&library.context_push},
        {"g_main_context_pop_thread_default", (void **)&library.context_pop},
        {"g_main_context_iteration", (void **)&library.context_iteration},
        {"g_timeout_source_new", (void **)&library.timeout_source_new},
        {"g_source_set_callback", (void **)&library.source_set_callback},
        {"g_source_attach", (void **)&library.source_attach},
        {"g_source_destroy", (void **)&library.source_destroy},
        {"g_source_unref", (void **)&library.source_unref},
        {"g_hash_table_new", (void **)&library.hash_new},
        {"g_hash_table_insert", (void **)&library.hash_insert},
        {"g_hash_table_lookup", (void **)&library.hash_lookup},
        {"g_hash_table_unref", (void **)&library.hash_unref},
        {"g_str_hash", (void **)&library.str_hash},
        {"g_str_equal", (void **)&library.str_equal},
        {"g_list_free", (void **)&library.list_free},
        {"g_error_free", (void **)&library.error_free},
        {"g_object_ref", (void **)&library.object_ref},
        {"g_object_set", (void **)&library.object_set},
        {"g_type_class_peek_parent", (void **)&library.class_peek_parent},
        {"g_type_from_name", (void **)&library.type_from_name},
        {"g_type_query", (void **)&library.type_query},
        {"g_type_register_static_simple", (void **)&library.type_register},
        {"g_object_unref", (void **)&library.object_unref},
        {"g_cancellable_new", (void **)&library.cancellable_new},
        {"g_cancellable_cancel", (void **)&library.cancellable_cancel},
        {"g_dbus_connection_new_for_address_sync", (void **)&library.connection_new_sync},
        {"g_dbus_connection_close", (void **)&library.connection_close},
        {"g_dbus_connection_is_closed", (void **)&library.connection_is_closed},
        {"g_dbus_connection_signal_subscribe", (void **)&library.signal_subscribe},
        {"g_dbus_connection_signal_unsubscribe", (void **)&library.signal_unsubscribe},
        {"g_async_initable_new_async", (void **)&library.async_new},
        {"g_async_initable_new_finish", (void **)&library.async_new_finish},
        {"g_async_result_get_source_object", (void **)&library.result_source},
        {"g_io_error_quark", (void **)&library.io_error},
        {"g_dbus_error_quark", (void **)&library.bus_error},
        {"secret_error_get_quark", (void **)&library.secret_error},
        {"secret_service_get_type", (void **)&library.service_type},
        {"secret_service_search", (void **)&library.search},
        {"secret_service_search_finish", (void **)&library.search_finish},
        {"secret_service_store", (void **)&library.store},
        {"secret_service_store_finish", (void **)&library.store_finish},
        {"secret_service_unlock", (void **)&library.unlock},
        {"secret_service_unlock_finish", (void **)&library.unlock_finish},
        {"secret_collection_for_alias", (void **)&library.collection},
        {"secret_collection_for_alias_finish", (void **)&library.collection_finish},
        {"secret_collection_get_locked", (void **)&library.collection_locked},
        {"secret_item_get_attributes", (void **)&library.item_attributes},
        {"secret_item_get_secret", (void **)&library.item_secret},
        {"secret_item_get_locked", (void **)&library.item_locked},
        {"secret_item_get_modified", (void **)&library.item_modified},
        {"secret_item_delete", (void **)&library.item_delete},
        {"secret_item_delete_finish", (void **)&library.item_delete_finish},
        {"secret_value_new", (void **)&library.value_new},
        {"secret_value_get", (void **)&library.value_get},
        {"secret_value_unref", (void **)&library.value_unref},
    };
    for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
        *functions[index].function = dlsym(handle, functions[index].symbol);
        if (*functions[index].function == NULL) return;
    }
    library.own_service_type = make_type();
    library.is_loaded = library.own_service_type != 0;
}

static pthread_once_t loading = PTHREAD_ONCE_INIT;

struct cls_keyring {
    // Replies and signals are dispatched in this context only, because the program may run its own main loop or none.
    void *context;
    // Not shared with the process.
    void *connection;
    void *service;
    unsigned subscriptions[3];
    // The time limit for an answer, in milliseconds.
    unsigned timeout;
    bool has_news;
};

struct cls_items {
    list *items;
    size_t count;
    // In the order of `items`.
    struct {
        void *item;
        void *attributes;
        void *secret;
    } *parts;
};

// MARK: Waiting

// One request. On the heap, because its answer may arrive after the caller's time limit.
typedef struct {
    void *cancellable;
    void *result;
    bool is_done;
    bool is_late;
    bool is_abandoned;
} operation;

static operation *begin(cls_keyring *keyring) {
    operation *operation = calloc(1, sizeof *operation);
    if (operation == NULL) return NULL;
    operation->cancellable = library.cancellable_new();
    library.context_push(keyring->context);
    return operation;
}

static void end(cls_keyring *keyring, operation *operation) {
    library.context_pop(keyring->context);
    library.object_unref(operation->cancellable);
    if (operation->result != NULL) library.object_unref(operation->result);
    if (operation->is_done) {
        free(operation);
    } else {
        operation->result = NULL;
        operation->is_abandoned = true;
    }
}

static void on_done(void *source, void *result, void *data) {
    operation *operation = data;
    if (operation->is_abandoned) {
        free(operation);
        return;
    }
    operation->result = library.object_ref(result);
    operation->is_done = true;
}

static int on_late(void *data) {
    ((operation *)data)->is_late = true;
    return 0;
}

static void run(cls_keyring *keyring, operation *operation, unsigned milliseconds) {
    operation->is_late = false;
    void *timer = library.timeout_source_new(milliseconds);
    library.source_set_callback(timer, on_late, operation, NULL);
    library.source_attach(timer, keyring->context);
    while (!operation->is_done && !operation->is_late) library.context_iteration(keyring->context, 1);
    library.source_destroy(timer);
    library.source_unref(timer);
}

// Whether the answer arrived within the time limit.
static bool await(cls_keyring *keyring, operation *operation, unsigned milliseconds) {
    run(keyring, operation, milliseconds);
    if (operation->is_done) return true;
    library.cancellable_cancel(operation->cancellable);
    run(keyring, operation, CANCEL_TIMEOUT);
    if (operation->is_done) return false;
    // The call still waits for the service to dismiss a prompt.
    library.connection_close(keyring->connection, NULL, NULL, NULL);
    run(keyring, operation, CANCEL_TIMEOUT);
    return false;
}

static cls_outcome outcome(failure *failure) {
    if (failure == NULL) return CLS_DONE;
    cls_outcome outcome = CLS_FAILED;
    if (failure->domain == library.secret_error() && failure->code == SECRET_IS_LOCKED) outcome = CLS_LOCKED;
    // The user has declined: no other operation is cancelled before its time limit.
    if (failure->domain == library.io_error() && failure->code == IO_CANCELLED) outcome = CLS_LOCKED;
    if (failure->domain == library.bus_error() && means_absent(failure->code)) outcome = CLS_ABSENT;
    library.error_free(failure);
    return outcome;
}

// MARK: Connecting

// Cancels a synchronous connection attempt when its time limit has passed.
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void *cancellable;
    unsigned timeout;
    bool is_done;
    bool is_late;
} watch;

static void *keep_watch(void *data) {
    watch *watch = data;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += watch->timeout / 1000;
    end.tv_nsec += watch->timeout % 1000 * 1000000L;
    if (end.tv_nsec >= 1000000000L) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000L;
    }
    pthread_mutex_lock(&watch->mutex);
    while (!watch->is_done && !watch->is_late) {
        watch->is_late = pthread_cond_timedwait(&watch->changed, &watch->mutex, &end) != 0;
    }
    bool is_late = watch->is_late && !watch->is_done;
    pthread_mutex_unlock(&watch->mutex);
    if (is_late) library.cancellable_cancel(watch->cancellable);
    return NULL;
}

static cls_outcome connect_to(const char *address, cls_keyring *keyring) {
    watch watch = {
        .mutex = PTHREAD_MUTEX_INITIALIZER,
        .cancellable = library.cancellable_new(),
        .timeout = keyring->timeout,
    };
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&watch.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_t watcher;
    bool is_watched = pthread_create(&watcher, NULL, keep_watch, &watch) == 0;
    if (is_watched) {
        failure *failure = NULL;
        keyring->connection = library.connection_new_sync(
            address, CONNECTION_CLIENT | CONNECTION_MESSAGE_BUS, NULL, watch.cancellable, &failure);
        if (failure != NULL) library.error_free(failure);
        pthread_mutex_lock(&watch.mutex);
        watch.is_done = true;
        pthread_cond_signal(&watch.changed);
        pthread_mutex_unlock(&watch.mutex);
        pthread_join(watcher, NULL);
    }
    pthread_cond_destroy(&watch.changed);
    library.object_unref(watch.cancellable);
    if (keyring->connection != NULL) return CLS_DONE;
    if (!is_watched) return CLS_FAILED;
    return watch.is_late ? CLS_SILENT : CLS_ABSENT;
}

static void on_signal(
    void *connection, const char *sender, const char *path, const char *interface, const char *name, void *parameters,
    void *data) {
    ((cls_keyring *)data)->has_news = true;
}

static cls_outcome open_session(cls_keyring *keyring) {
    operation *operation = begin(keyring);
    if (operation == NULL) return CLS_FAILED;
    const char *service = "org.freedesktop.secrets";
    const char *interfaces[] = {"org.freedesktop.Secret.Collection", "org.freedesktop.Secret.Service"};
    for (int index = 0; index < 2; index++) {
        keyring->subscriptions[index] = library.signal_subscribe(
            keyring->connection, service, interfaces[index], NULL, NULL, NULL, 0, on_signal, keyring, NULL);
    }
    keyring->subscriptions[2] = library.signal_subscribe(
        keyring->connection, "org.freedesktop.DBus", "org.freedesktop.DBus", "NameOwnerChanged", NULL, service, 0,
        on_signal, keyring, NULL);
    library.async_new(
        library.own_service_type, PRIORITY_DEFAULT, operation->cancellable, on_done, operation, "g-connection",
        keyring->connection, "g-name", service, "g-object-path", "/org/freedesktop/secrets", "g-interface-name",
        interfaces[1], "flags", SERVICE_OPEN_SESSION, NULL);
    bool is_in_time = await(keyring, operation, keyring->timeout);
    failure *failure = NULL;
    if (operation->is_done) {
        void *source = library.result_source(operation->result);
        keyring->service = library.async_new_finish(source, operation->result, &failure);
        library.object_unref(source);
    }
    end(keyring, operation);
    cls_outcome result = outcome(failure);
    if (!is_in_time) return CLS_SILENT;
    return keyring->service == NULL && result == CLS_DONE ? CLS_FAILED : result;
}

cls_outcome cls_open(const char *address, unsigned timeout, cls_keyring **keyring) {
    pthread_once(&loading, load);
    *keyring = NULL;
    if (!library.is_loaded) return CLS_ABSENT;
    cls_keyring *new = calloc(1, sizeof *new);
    if (new == NULL) return CLS_FAILED;
    new->timeout = timeout;
    // GIO ignores SIGPIPE for the whole process with its first socket. The program's own action is restored.
    struct sigaction pipe;
    bool is_known = sigaction(SIGPIPE, NULL, &pipe) == 0;
    new->context = library.context_new();
    library.context_push(new->context);
    cls_outcome outcome = connect_to(address, new);
    library.context_pop(new->context);
    if (is_known) sigaction(SIGPIPE, &pipe, NULL);
    if (outcome == CLS_DONE) outcome = open_session(new);
    if (outcome != CLS_DONE) {
        cls_close(new);
        return outcome;
    }
    *keyring = new;
    return CLS_DONE;
}

void cls_close(cls_keyring *keyring) {
    library.context_push(keyring->context);
    if (keyring->service != NULL) library.object_unref(keyring->service);
    if (keyring->connection != NULL) {
        for (size_t index = 0; index < sizeof keyring->subscriptions / sizeof *keyring->subscriptions; index++) {
            unsigned subscription = keyring->subscriptions[index];
            if (subscription != 0) library.signal_unsubscribe(keyring->connection, subscription);
        }
        operation *operation = begin(keyring);
        if (operation != NULL) {
            library.connection_close(keyring->connection, operation->cancellable, on_done, operation);
            run(keyring, operation, CANCEL_TIMEOUT);
            end(keyring, operation);
        }
        // Dispatches the completions, which release their objects.
        while (library.context_iteration(keyring->context, 0)) {}
        library.object_unref(keyring->connection);
    }
    library.context_pop(keyring->context);
    library.context_unref(keyring->context);
    free(keyring);
}

bool cls_has_news(cls_keyring *keyring) {
    library.context_push(keyring->context);
    while (library.context_iteration(keyring->context, 0)) {}
    library.context_pop(keyring->context);
    bool has_news = keyring->has_news || library.connection_is_closed(keyring->connection);
    keyring->has_news = false;
    return has_news;
}

// MARK: Items

static void *table(const char *const *attributes) {
    void *table = library.hash_new(library.str_hash, library.str_equal);
    for (; attributes[0] != NULL; attributes += 2) {
        library.hash_insert(table, (void *)attributes[0], (void *)attributes[1]);
    }
    return table;
}

static cls_items *take(list *found) {
    cls_items *items = calloc(1, sizeof *items);
    if (items == NULL) return NULL;
    for (list *entry = found; entry != NULL; entry = entry->next) items->count++;
    items->parts = calloc(items->count + 1, sizeof *items->parts);
    if (items->parts == NULL) {
        free(items);
        return NULL;
    }
    items->items = found;
    size_t index = 0;
    for (list *entry = found; entry != NULL; entry = entry->next, index++) {
        items->parts[index].item = entry->data;
        items->parts[index].attributes = library.item_attributes(entry->data);
        items->parts[index].secret = library.item_secret(entry->data);
    }
    return items;
}

static void release(list *found) {
    for (list *entry = found; entry != NULL; entry = entry->next) library.object_unref(entry->data);
    library.list_free(found);
}

cls_outcome cls_find(cls_keyring *keyring, const char *const *attributes, cls_items **items) {
    *items = NULL;
    operation *operation = begin(keyring);
    if (operation == NULL) return CLS_FAILED;
    void *wanted = table(attributes);
    library.search(
        keyring->service, NULL, wanted, SEARCH_ALL | SEARCH_LOAD_SECRETS, operation->cancellable, on_done, operation);
    bool is_in_time = await(keyring, operation, keyring->timeout);
    failure *failure = NULL;
    list *found = NULL;
    if (operation->is_done) found = library.search_finish(keyring->service, operation->result, &failure);
    library.hash_unref(wanted);
    cls_outcome result = outcome(failure);
    if (!is_in_time) result = CLS_SILENT;
    if (result == CLS_DONE) {
        *items = take(found);
        if (*items == NULL) result = CLS_FAILED;
    }
    if (*items == NULL) release(found);
    end(keyring, operation);
    return result;
}

size_t cls_count(const cls_items *items) { return items->count; }

cls_item cls_item_at(const cls_items *items, size_t index) {
    void *item = items->parts[index].item, *value = items->parts[index].secret;
    cls_item result = {.modified = library.item_modified(item), .is_locked = library.item_locked(item) != 0};
    if (value != NULL) result.secret = (const uint8_t *)library.value_get(value, &result.secret_count);
    return result;
}

const char *cls_attribute_at(const cls_items *items, size_t index, const char *name) {
    void *attributes = items->parts[index].attributes;
    return attributes == NULL ? NULL : library.hash_lookup(attributes, name);
}

void cls_end_items(cls_items *items) {
    for (size_t index = 0; index < items->count; index++) {
        if (items->parts[index].attributes != NULL) library.hash_unref(items->parts[index].attributes);
        if (items->parts[index].secret != NULL) library.value_unref(items->parts[index].secret);
    }
    release(items->items);
    free(items->parts);
    free(items);
}

// MARK: Changes

cls_outcome cls_unlock(cls_keyring *keyring, const cls_items *items) {
    operation *operation = begin(keyring);
    if (operation == NULL) return CLS_FAILED;
    library.unlock(keyring->service, items->items, operation->cancellable, on_done, operation);
    bool is_in_time = await(keyring, operation, PROMPT_TIMEOUT);
    failure *failure = NULL;
    if (operation->is_done) library.unlock_finish(keyring->service, operation->result, NULL, &failure);
    end(keyring, operation);
    cls_outcome result = outcome(failure);
    return is_in_time ? result : CLS_LOCKED;
}

cls_outcome cls_is_open(cls_keyring *keyring) {
    operation *operation = begin(keyring);
    if (operation == NULL) return CLS_FAILED;
    library.collection(keyring->service, "default", 0, operation->cancellable, on_done, operation);
    bool is_in_time = await(keyring, operation, keyring->timeout);
    failure *failure = NULL;
    void *collection = NULL;
    if (operation->is_done) collection = library.collection_finish(operation->result, &failure);
    cls_outcome result = outcome(failure);
    if (result == CLS_DONE && (collection == NULL || library.collection_locked(collection))) result = CLS_LOCKED;
    if (collection != NULL) library.object_unref(collection);
    end(keyring, operation);
    return is_in_time ? result : CLS_SILENT;
}

cls_outcome cls_store(
    cls_keyring *keyring, const char *const *attributes, const char *label, const uint8_t *secret, size_t count,
    bool may_ask) {
    operation *operation = begin(keyring);
    if (operation == NULL) return CLS_FAILED;
    void *wanted = table(attributes);
    void *value = library.value_new((const char *)secret, (ssize_t)count, "text/plain");
    library.store(
        keyring->service, NULL, wanted, "default", label, value, operation->cancellable, on_done, operation);
    library.value_unref(value);
    bool is_in_time = await(keyring, operation, may_ask ? PROMPT_TIMEOUT : keyring->timeout);
    failure *failure = NULL;
    int is_stored = 0;
    if (operation->is_done) is_stored = library.store_finish(keyring->service, operation->result, &failure);
    library.hash_unref(wanted);
    end(keyring, operation);
    cls_outcome result = outcome(failure);
    if (!is_in_time) return may_ask ? CLS_LOCKED : CLS_SILENT;
    if (result == CLS_DONE && !is_stored) result = CLS_FAILED;
    // A user who declines to create a keyring is indistinguishable from one who cannot be prompted.
    return result == CLS_FAILED && may_ask ? CLS_LOCKED : result;
}

cls_outcome cls_delete(cls_keyring *keyring, const cls_items *items, size_t index) {
    operation *operation = begin(keyring);
    if (operation == NULL) return CLS_FAILED;
    void *item = items->parts[index].item;
    library.item_delete(item, operation->cancellable, on_done, operation);
    bool is_in_time = await(keyring, operation, keyring->timeout);
    failure *failure = NULL;
    int is_deleted = 0;
    if (operation->is_done) is_deleted = library.item_delete_finish(item, operation->result, &failure);
    end(keyring, operation);
    cls_outcome result = outcome(failure);
    if (!is_in_time) return CLS_SILENT;
    return result == CLS_DONE && !is_deleted ? CLS_FAILED : result;
}
