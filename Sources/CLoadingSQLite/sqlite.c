#include "CLoadingSQLite.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

const char *const clq_library_name = "libsqlite3.so.0";

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;
// Written once, before its address is known to other threads.
static struct clq_functions functions;
// No function of a table: it takes any number of arguments, which Swift cannot call.
static __typeof__(sqlite3_db_config) *db_config;

static bool load(void) {
    // Never closed: threads may be in it until the process is gone. A program that has linked the same library shares it.
    void *library = dlopen(clq_library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) library = dlopen("libsqlite3.so", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return false;
#define FIND(name) \
    functions.name = (__typeof__(sqlite3_##name) *)dlsym(library, "sqlite3_" #name); \
    if (functions.name == NULL) return false;
    CLQ_FUNCTIONS(FIND)
#undef FIND
    db_config = (__typeof__(sqlite3_db_config) *)dlsym(library, "sqlite3_db_config");
    return db_config != NULL;
}

const struct clq_functions *clq_load(void) {
    pthread_mutex_lock(&mutex);
    if (!is_loaded) is_loaded = load();
    bool result = is_loaded;
    pthread_mutex_unlock(&mutex);
    return result ? &functions : NULL;
}

// The functions below are given what only an open database has, so the library is loaded.

int clq_bind_text(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return functions.bind_text(statement, index, count > 0 ? bytes : "", count, SQLITE_TRANSIENT);
}

int clq_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return functions.bind_blob(statement, index, count > 0 ? bytes : "", count, SQLITE_TRANSIENT);
}

void clq_defend(sqlite3 *database) {
    db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
#ifdef SQLITE_DBCONFIG_TRUSTED_SCHEMA
    db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
#endif
}

bool clq_forgo_mapping(sqlite3 *database, sqlite3_io_methods *methods) {
    sqlite3_file *file = NULL;
    int result = functions.file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (result != SQLITE_OK || file == NULL || file->pMethods == NULL) return false;
    *methods = *file->pMethods;
    // Version 2 brought shared memory, version 3 mapped files.
    methods->iVersion = 1;
    file->pMethods = methods;
    return true;
}

bool clq_has_moved(sqlite3 *database) {
    int moved = 0;
    return functions.file_control(database, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved;
}

const char *clq_message(int code) {
    const struct clq_functions *loaded = clq_load();
    return loaded ? loaded->errstr(code) : NULL;
}
