// The user's keyring (the Secret Service of freedesktop.org), through the system's libsecret, which is loaded on first use
// and may be missing. Each function may wait for other processes, for a limited time.
//
// When the first keyring is opened, GLib starts two threads, `gmain` and `gdbus`, with up to three descriptors. They stay
// until the process ends. An open keyring has two more descriptors, which `cls_close` closes.
#ifndef C_LOADING_SECRET_SERVICE_H
#define C_LOADING_SECRET_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cls_keyring cls_keyring;
typedef struct cls_items cls_items;

typedef enum {
    CLS_DONE,
    // libsecret, the bus or the service is missing.
    CLS_ABSENT,
    // The keyring is locked, and the user has not unlocked it.
    CLS_LOCKED,
    // No answer within the time limit.
    CLS_SILENT,
    CLS_FAILED,
} cls_outcome;

// An item. Its memory belongs to the `cls_items`.
typedef struct {
    // Seconds since 1970.
    uint64_t modified;
    bool is_locked;
    // NULL if the item is locked, or its secret could not be read.
    const uint8_t *secret;
    size_t secret_count;
} cls_item;

// Connects to the service on the bus of that address, which may start the service. A keyring and its items must be used by
// one thread at a time. `timeout` is the time limit for an answer in milliseconds; a prompt has 60 s.
cls_outcome cls_open(const char *address, unsigned timeout, cls_keyring **keyring);
void cls_close(cls_keyring *keyring);

// Finds the items with all these attributes: alternating names and values, terminated by NULL.
cls_outcome cls_find(cls_keyring *keyring, const char *const *attributes, cls_items **items);
size_t cls_count(const cls_items *items);
cls_item cls_item_at(const cls_items *items, size_t index);
// NULL if the item has no such attribute.
const char *cls_attribute_at(const cls_items *items, size_t index, const char *name);
void cls_end_items(cls_items *items);

// Prompts the user to unlock the locked items. A new `cls_find` returns their secrets.
cls_outcome cls_unlock(cls_keyring *keyring, const cls_items *items);

// Whether the default collection can be written without a prompt. CLS_LOCKED also if there is no default collection.
cls_outcome cls_is_open(cls_keyring *keyring);

// Stores an item with exactly these attributes in the default collection, and replaces one that has them. If `may_ask`, the
// user is prompted to unlock or create the collection.
cls_outcome cls_store(
    cls_keyring *keyring, const char *const *attributes, const char *label, const uint8_t *secret, size_t count,
    bool may_ask);

cls_outcome cls_delete(cls_keyring *keyring, const cls_items *items, size_t index);

// Whether the service has signalled changes, started or stopped since the last call. Does not block.
bool cls_has_news(cls_keyring *keyring);

#endif
