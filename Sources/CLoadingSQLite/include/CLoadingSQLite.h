// SQLite, loaded at run time: its library is not linked, so a program starts without it, and where it is missing
// nothing but persistence is missing.
#ifndef CLOADINGSQLITE_H
#define CLOADINGSQLITE_H

#if defined(__has_include) && !__has_include(<sqlite3.h>)
#error "SQLite's header is missing: install libsqlite3-dev (Debian, Ubuntu) or sqlite-devel (Fedora)"
#endif

#include <sqlite3.h>
#include <stdbool.h>

#pragma clang assume_nonnull begin

// SQLite's functions by their names without the prefix. A function that is called has to be listed here.
#define CLQ_FUNCTIONS(FUNCTION) \
    FUNCTION(bind_blob) \
    FUNCTION(bind_double) \
    FUNCTION(bind_int64) \
    FUNCTION(bind_null) \
    FUNCTION(bind_text) \
    FUNCTION(busy_handler) \
    FUNCTION(changes) \
    FUNCTION(clear_bindings) \
    FUNCTION(close_v2) \
    FUNCTION(column_blob) \
    FUNCTION(column_bytes) \
    FUNCTION(column_count) \
    FUNCTION(column_double) \
    FUNCTION(column_int64) \
    FUNCTION(column_text) \
    FUNCTION(column_type) \
    FUNCTION(db_readonly) \
    FUNCTION(errstr) \
    FUNCTION(exec) \
    FUNCTION(extended_errcode) \
    FUNCTION(extended_result_codes) \
    FUNCTION(file_control) \
    FUNCTION(finalize) \
    FUNCTION(get_autocommit) \
    FUNCTION(last_insert_rowid) \
    FUNCTION(limit) \
    FUNCTION(open_v2) \
    FUNCTION(prepare_v2) \
    FUNCTION(progress_handler) \
    FUNCTION(reset) \
    FUNCTION(step) \
    FUNCTION(stmt_readonly)

struct clq_functions {
#define CLQ_FIELD(name) __typeof__(sqlite3_##name) *name;
    CLQ_FUNCTIONS(CLQ_FIELD)
#undef CLQ_FIELD
};

// The functions, for the rest of the process. The first call loads the library, which may wait for the disk. NULL
// without the library; the next call tries again.
const struct clq_functions *_Nullable clq_load(void);

// What the library is called.
extern const char *const clq_library_name;

// Both copy the bytes. No bytes at no address would be NULL.
int clq_bind_text(sqlite3_stmt *statement, int index, const void *_Nullable bytes, int count);
int clq_bind_blob(sqlite3_stmt *statement, int index, const void *_Nullable bytes, int count);

// A file may be malicious: nothing in its schema runs, and no statement changes the file's internal structure.
void clq_defend(sqlite3 *database);

// Has the database map no file, neither its own nor the shared memory of a log: when another program cuts a mapped file
// the next access ends the process with SIGBUS. A log can be read then while no other process has the file, with its
// index in memory. `methods` has to stay until the database is closed. Before the first statement.
bool clq_forgo_mapping(sqlite3 *database, sqlite3_io_methods *methods);

// Whether the open file is another one than has its name now.
bool clq_has_moved(sqlite3 *database);

// What a result code means; NULL without the library.
const char *_Nullable clq_message(int code);

#pragma clang assume_nonnull end

#endif
