// libdbus, loaded at run time: its library is not linked, so a program starts without it, and where it is missing
// nothing but the discovery of services is missing.
//
// The types are declared here as the stable interface of libdbus-1.so.3 has them, so that building needs no headers.
#ifndef CLOADINGDBUS_H
#define CLOADINGDBUS_H

#include <stdint.h>

#pragma clang assume_nonnull begin

typedef struct DBusConnection cld_connection;
typedef struct DBusMessage cld_message;
typedef struct DBusWatch cld_watch;

// `DBusMessageIter`, whose size and alignment are part of the interface.
typedef struct {
    void *_Nullable pointers[2];
    uint32_t word;
    int words[9];
    void *_Nullable padding[2];
} cld_iterator;

typedef uint32_t (*cld_add_watch)(cld_watch *watch, void *_Nullable context);
typedef void (*cld_change_watch)(cld_watch *watch, void *_Nullable context);

// libdbus's functions by their names without the prefix. A function that is called has to be listed here. Those that
// libdbus ends the process for when an argument is not valid (names, paths, texts that are not UTF-8) get only
// arguments that are checked before. The error of `connection_open_private` is never asked for.
#define CLD_FUNCTIONS(FUNCTION) \
    FUNCTION(uint32_t, threads_init_default, (void)) \
    FUNCTION(cld_connection *_Nullable, connection_open_private, (const char *address, void *_Nullable error)) \
    FUNCTION(void, connection_set_exit_on_disconnect, (cld_connection * connection, uint32_t exits)) \
    FUNCTION(void, connection_set_max_message_size, (cld_connection * connection, long size)) \
    FUNCTION(uint32_t, connection_set_watch_functions, \
        (cld_connection * connection, cld_add_watch _Nullable add, cld_change_watch _Nullable remove, \
            cld_change_watch _Nullable toggle, void *_Nullable context, void (*_Nullable free)(void *_Nullable))) \
    FUNCTION(uint32_t, connection_get_is_connected, (cld_connection * connection)) \
    FUNCTION(uint32_t, connection_send, \
        (cld_connection * connection, cld_message *message, uint32_t *_Nullable serial)) \
    FUNCTION(cld_message *_Nullable, connection_pop_message, (cld_connection * connection)) \
    FUNCTION(void, connection_close, (cld_connection * connection)) \
    FUNCTION(void, connection_unref, (cld_connection * connection)) \
    FUNCTION(int, watch_get_unix_fd, (cld_watch * watch)) \
    FUNCTION(unsigned, watch_get_flags, (cld_watch * watch)) \
    FUNCTION(uint32_t, watch_get_enabled, (cld_watch * watch)) \
    FUNCTION(uint32_t, watch_handle, (cld_watch * watch, unsigned flags)) \
    FUNCTION(cld_message *_Nullable, message_new_method_call, \
        (const char *_Nullable destination, const char *path, const char *_Nullable interface, const char *method)) \
    FUNCTION(void, message_set_auto_start, (cld_message * message, uint32_t starts)) \
    FUNCTION(void, message_unref, (cld_message * message)) \
    FUNCTION(int, message_get_type, (cld_message * message)) \
    FUNCTION(uint32_t, message_get_reply_serial, (cld_message * message)) \
    FUNCTION(const char *_Nullable, message_get_sender, (cld_message * message)) \
    FUNCTION(const char *_Nullable, message_get_path, (cld_message * message)) \
    FUNCTION(const char *_Nullable, message_get_interface, (cld_message * message)) \
    FUNCTION(const char *_Nullable, message_get_member, (cld_message * message)) \
    FUNCTION(const char *_Nullable, message_get_error_name, (cld_message * message)) \
    FUNCTION(uint32_t, message_iter_init, (cld_message * message, cld_iterator *iterator)) \
    FUNCTION(int, message_iter_get_arg_type, (cld_iterator * iterator)) \
    FUNCTION(int, message_iter_get_element_type, (cld_iterator * iterator)) \
    FUNCTION(uint32_t, message_iter_next, (cld_iterator * iterator)) \
    FUNCTION(void, message_iter_recurse, (cld_iterator * iterator, cld_iterator *inner)) \
    FUNCTION(void, message_iter_get_basic, (cld_iterator * iterator, void *value)) \
    FUNCTION(void, message_iter_get_fixed_array, \
        (cld_iterator * iterator, const void *_Nullable *_Nonnull elements, int *count)) \
    FUNCTION(void, message_iter_init_append, (cld_message * message, cld_iterator *iterator)) \
    FUNCTION(uint32_t, message_iter_append_basic, (cld_iterator * iterator, int type, const void *value)) \
    FUNCTION(uint32_t, message_iter_open_container, \
        (cld_iterator * iterator, int type, const char *_Nullable signature, cld_iterator *inner)) \
    FUNCTION(uint32_t, message_iter_append_fixed_array, \
        (cld_iterator * iterator, int type, const void *elements, int count)) \
    FUNCTION(uint32_t, message_iter_close_container, (cld_iterator * iterator, cld_iterator *inner))

struct cld_functions {
#define CLD_FIELD(result, name, arguments) result(*_Nonnull name) arguments;
    CLD_FUNCTIONS(CLD_FIELD)
#undef CLD_FIELD
};

// The functions, for the rest of the process. The first call loads the library, which may wait for the disk. NULL
// without the library; the next call tries again.
const struct cld_functions *_Nullable cld_load(void);

// What the library is called.
extern const char *const cld_library_name;

#pragma clang assume_nonnull end

#endif
