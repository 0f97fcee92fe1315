// The metadata of the classes that `records.S` names: by Swift's calling convention for metadata accessors, which for one
// number in and two words out is that of C.
#define _GNU_SOURCE
#include "CLoadingFoundation.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { const void *type; size_t state; } metadata;

#define CLASS(name, symbol)                                                                                            \
    extern metadata urlloading_##name(size_t request) __asm__(symbol);                                                 \
    __attribute__((visibility("hidden"))) metadata clf_##name(size_t request) { return urlloading_##name(request); }

CLASS(CachedURLResponse, "$s10URLLoading17CachedURLResponseCMa")
CLASS(HTTPCookie, "$s10URLLoading10HTTPCookieCMa")
CLASS(HTTPCookieStorage, "$s10URLLoading17HTTPCookieStorageCMa")
CLASS(HTTPURLResponse, "$s10URLLoading15HTTPURLResponseCMa")
CLASS(URLResponse, "$s10URLLoading11URLResponseCMa")
CLASS(URLSession, "$s10URLLoading10URLSessionCMa")
CLASS(URLSessionConfiguration, "$s10URLLoading23URLSessionConfigurationCMa")
CLASS(URLSessionDataTask, "$s10URLLoading18URLSessionDataTaskCMa")
CLASS(URLSessionDownloadTask, "$s10URLLoading22URLSessionDownloadTaskCMa")
CLASS(URLSessionStreamTask, "$s10URLLoading20URLSessionStreamTaskCMa")
CLASS(URLSessionTask, "$s10URLLoading14URLSessionTaskCMa")
CLASS(URLSessionUploadTask, "$s10URLLoading20URLSessionUploadTaskCMa")
CLASS(URLAuthenticationChallenge, "$s10URLLoading26URLAuthenticationChallengeCMa")
CLASS(URLCache, "$s10URLLoading8URLCacheCMa")
CLASS(URLCredential, "$s10URLLoading13URLCredentialCMa")
CLASS(URLCredentialStorage, "$s10URLLoading20URLCredentialStorageCMa")
CLASS(URLProtectionSpace, "$s10URLLoading18URLProtectionSpaceCMa")
CLASS(URLProtocol, "$s10URLLoading11URLProtocolCMa")
CLASS(NSURLRequest, "$s10URLLoading12NSURLRequestCMa")
CLASS(NSMutableURLRequest, "$s10URLLoading19NSMutableURLRequestCMa")
CLASS(RemoteContents, "$s10URLLoading14RemoteContentsCMa")

// What the metadata of a class begins with where there is no Objective-C, by Swift's ABI (TargetClassMetadata). Pointers lie
// before the address of the metadata too, and the methods of the class behind this.
typedef struct class_metadata {
    intptr_t kind;
    const struct class_metadata *superclass;
    uint32_t flags;
    uint32_t instance_address_point;
    uint32_t instance_size;
    uint16_t instance_align_mask;
    uint16_t reserved;
    uint32_t class_size;
    uint32_t class_address_point;
    const void *description;
} class_metadata;

#define RECORD(name)                                                                                                   \
    extern const char name[] __attribute__((visibility("hidden")));

RECORD(clf_record_networking_URLResponse)
RECORD(clf_record_networking_HTTPURLResponse)
RECORD(clf_record_networking_CachedURLResponse)
RECORD(clf_record_networking_URLCredential)
RECORD(clf_record_networking_URLProtectionSpace)
RECORD(clf_record_networking_URLAuthenticationChallenge)
RECORD(clf_record_foundation_NSURLRequest)
RECORD(clf_record_foundation_NSMutableURLRequest)

// The classes that can be archived, a superclass before what inherits from it.
static struct archived_class {
    metadata (*accessor)(size_t request);
    const void *record;
    const class_metadata *type;
    const class_metadata *renamed;
} archived_classes[] = {
    { clf_URLResponse, clf_record_networking_URLResponse, NULL, NULL },
    { clf_HTTPURLResponse, clf_record_networking_HTTPURLResponse, NULL, NULL },
    { clf_CachedURLResponse, clf_record_networking_CachedURLResponse, NULL, NULL },
    { clf_URLCredential, clf_record_networking_URLCredential, NULL, NULL },
    { clf_URLProtectionSpace, clf_record_networking_URLProtectionSpace, NULL, NULL },
    { clf_URLAuthenticationChallenge, clf_record_networking_URLAuthenticationChallenge, NULL, NULL },
    { clf_NSURLRequest, clf_record_foundation_NSURLRequest, NULL, NULL },
    { clf_NSMutableURLRequest, clf_record_foundation_NSMutableURLRequest, NULL, NULL },
};
enum { archived_class_count = sizeof archived_classes / sizeof *archived_classes };

static const class_metadata *renamed_class(const class_metadata *type) {
    for (size_t i = 0; i < archived_class_count; i++)
        if (archived_classes[i].type == type) return archived_classes[i].renamed;
    return type;
}

// A copy of the class's metadata with another name. It is kept until the process ends, as classes are.
static const class_metadata *rename_class(const class_metadata *type, const void *record) {
    char *copy = malloc(type->class_size);
    if (copy == NULL) return type;
    memcpy(copy, (const char *)type - type->class_address_point, type->class_size);
    class_metadata *renamed = (class_metadata *)(copy + type->class_address_point);
    renamed->superclass = renamed_class(type->superclass);
    renamed->description = record;
    return renamed;
}

// Where the toolchain's module is loaded too, its classes have these names, and an archive that said them would be read as
// theirs.
static int names_are_taken(void) {
    return dlsym(RTLD_DEFAULT, "$s20FoundationNetworking15HTTPURLResponseCMa") != NULL;
}

static void rename_classes(void) {
    if (names_are_taken()) return;
    for (size_t i = 0; i < archived_class_count; i++) {
        struct archived_class *class = &archived_classes[i];
        class->type = class->accessor(0).type;
        class->renamed = rename_class(class->type, class->record);
    }
}

const void *clf_class_for_archives(const void *type) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, rename_classes);
    return renamed_class(type);
}
