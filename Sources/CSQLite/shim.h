#include <sqlite3.h>

// What the importer cannot see: a destructor that is a number, and a call with any number of arguments.

// Both copy what they are given.
static inline int csq_bind_text(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_text(statement, index, count > 0 ? bytes : "", count, SQLITE_TRANSIENT);
}
static inline int csq_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    // No bytes at no address would be NULL.
    return sqlite3_bind_blob(statement, index, count > 0 ? bytes : "", count, SQLITE_TRANSIENT);
}

// A file may have been made by somebody who means harm: nothing in its schema runs, and no statement changes the file's
// inner structure.
static inline void csq_defend(sqlite3 *database) {
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
#ifdef SQLITE_DBCONFIG_TRUSTED_SCHEMA
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
#endif
}

// Whether the open file is another one than has its name now.
static inline int csq_has_moved(sqlite3 *database) {
    int moved = 0;
    return sqlite3_file_control(database, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved;
}
