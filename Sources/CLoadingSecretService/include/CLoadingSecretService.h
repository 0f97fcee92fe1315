// The user's keyring (the Secret Service of freedesktop.org) by the system's libsecret, which is looked for when it is
// needed first: a program need not have it. All that is here may wait for other processes, but none of it for ever.
//
// The first keyring that is opened makes the library start two threads, named `gmain` and `gdbus`, with up to three
// descriptors, which stay as long as the process. An open keyring has two descriptors more, which go when it is closed.
#ifndef C_LOADING_SECRET_SERVICE_H
#define C_LOADING_SECRET_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cls_keyring cls_keyring;
typedef struct cls_items cls_items;

typedef enum {
    CLS_DONE,
    // There is no library, no bus, or no service on it.
    CLS_ABSENT,
    // And was not unlocked.
    CLS_LOCKED,
    // No answer in time.
    CLS_SILENT,
    CLS_FAILED,
} cls_outcome;

// What is known of an item beside what it was found by. All lasts as long as the items do.
typedef struct {
    // Seconds since 1970.
    uint64_t modified;
    bool is_locked;
    // NULL if it is locked or could not be had.
    const uint8_t *secret;
    size_t secret_count;
} cls_item;

// Connects to the service on the bus of that address, which may start the service. Used by one thread at a time, as is
// all that is found in it. An answer is waited for so many milliseconds; a person, a minute.
cls_outcome cls_open(const char *address, unsigned patience, cls_keyring **keyring);
void cls_close(cls_keyring *keyring);

// Finds what has all these attributes: names and values by turns, and NULL.
cls_outcome cls_find(cls_keyring *keyring, const char *const *attributes, cls_items **items);
size_t cls_count(const cls_items *items);
cls_item cls_item_at(const cls_items *items, size_t index);
// NULL if it has none of that name.
const char *cls_attribute_at(const cls_items *items, size_t index, const char *name);
void cls_end_items(cls_items *items);

// Asks the user to unlock what is locked of them. Their secrets are there when they are found anew.
cls_outcome cls_unlock(cls_keyring *keyring, const cls_items *items);

// Whether the place where new items go can be written without asking the user. CLS_LOCKED also if there is none yet.
cls_outcome cls_is_open(cls_keyring *keyring);

// Stores an item with exactly these attributes in the default collection, in place of one that had them. A collection
// that is locked or absent is unlocked or created by prompting the user, if `may_ask`.
cls_outcome cls_store(
    cls_keyring *keyring, const char *const *attributes, const char *label, const uint8_t *secret, size_t count,
    bool may_ask);

cls_outcome cls_delete(cls_keyring *keyring, const cls_items *items, size_t index);

// Whether the service has told of changes, or has come or gone, since the last call. Waits for nothing.
bool cls_has_news(cls_keyring *keyring);

#endif
