// The calls by which a process changes a disk, in place of the C library's: whoever links this can be made to die at any
// one of them, or records them, so that a test can make what a power failure would have left. SQLite's are among them, since its
// library finds these first.

#ifndef C_TEST_DISK_H
#define C_TEST_DISK_H

/// Has the process be killed, as by SIGKILL, in place of the change of that number to anything in the folder. Where that
/// is a write, half of it is done before if `torn`. A number of 0 or less is never reached.
void ctd_kill_at(long change, const char *folder, int torn);
/// How many changes there were since.
long ctd_changes(void);

/// Records the changes to anything in the folder, and what is synchronized, in a file. See `DiskRecord` in the tests for its form.
void ctd_record(const char *folder, const char *log);
/// Records that everything up to here was promised.
void ctd_mark(long number);

#endif
