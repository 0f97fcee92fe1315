// A process should have one URL loading system. Two have separate sessions, cookies and caches, and neither takes objects of the
// other. A process gets the toolchain's beside this one when a package imports FoundationNetworking without declaring whose,
// and this one twice when it is both in the overlay and a dependency, or in the program and in a dynamic library of a package.
// Both are reported when the process starts.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

// What describes the toolchain's class URLSession. It is absent unless something else links it: statically, then the weak
// reference finds it, or as a library, then the process does.
extern const char toolchain_session[] __asm__("$s20FoundationNetworking10URLSessionCMn") __attribute__((weak));

// Each copy of the library has this, and finds its own by the second name: the first one is that of the first copy in the process.
const char url_loading_copy[1] = { 0 };
static const char own_copy[1] __attribute__((alias("url_loading_copy")));

static const char *file_of(const void *address) {
    Dl_info info;
    return dladdr(address, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : "the program";
}

__attribute__((constructor)) static void report_mixtures(void) {
    if (getauxval(AT_SECURE) != 0) return;
    const char *choice = getenv("URLSESSION_MIXTURE");
    if (choice != NULL && strcmp(choice, "allow") == 0) return;

    // What the program sees: this library alone would find its own first.
    void *program = dlopen(NULL, RTLD_LAZY);
    if (program == NULL) return;
    const void *other = toolchain_session;
    if (other == NULL) other = dlsym(program, "$s20FoundationNetworking10URLSessionCMn");
    const void *first = dlsym(program, "url_loading_copy");
    // Said once, by the first copy. A program does not export its own.
    if (other != NULL && (first == NULL || first == own_copy))
        dprintf(2,
            "URLLoading: two URL loading systems are in this process: this one, and the toolchain's FoundationNetworking with "
            "libcurl (%s). A package imports FoundationNetworking and does not declare the product of swift-url-loading. "
            "Declare it there, or build all packages with the overlay; see \"Three ways in\" in the README. "
            "URLSESSION_MIXTURE=allow hides this line.\n", file_of(other));

    if (first != NULL && first != own_copy)
        dprintf(2,
            "URLLoading: this library is in this process twice: in %s and in %s. If one is that of the overlay, no package must "
            "depend on swift-url-loading. If one is a dynamic library of the graph, make it static, or build with the overlay; see "
            "\"Three ways in\" in the README. "
            "URLSESSION_MIXTURE=allow hides this line.\n", file_of(first), file_of(own_copy));
    dlclose(program);
}
