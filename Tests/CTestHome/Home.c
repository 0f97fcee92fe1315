#define _GNU_SOURCE

#include "CTestHome.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// With the letters that mkdtemp replaces.
static char home[] = "/tmp/url-loading-home.XXXXXX";
static pid_t owner;

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_home(void) {
    // A process that was forked has the same handlers.
    if (getpid() == owner) nftw(home, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

__attribute__((constructor)) static void make_home(void) {
    // The processes that a test starts share its home.
    if (getenv("URL_LOADING_TEST_HOME") != NULL) return;
    if (mkdtemp(home) == NULL) {
        perror("no home for the tests");
        abort();
    }
    owner = getpid();
    char path[96];
    setenv("URL_LOADING_TEST_HOME", home, 1);
    snprintf(path, sizeof path, "%s/cache", home);
    setenv("XDG_CACHE_HOME", path, 1);
    snprintf(path, sizeof path, "%s/data", home);
    setenv("XDG_DATA_HOME", path, 1);
    // Nor does any touch the user's keyring.
    setenv("DBUS_SESSION_BUS_ADDRESS", "disabled:", 1);
    atexit(remove_home);
}
