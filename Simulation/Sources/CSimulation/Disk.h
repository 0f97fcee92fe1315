#ifndef DISK_H
#define DISK_H

#include "Kernel.h"

// ---- Disk.c

// Whether no descriptor is left for a file or a socket; sets errno.
bool disk_has_no_descriptor(void);
// Whether the path is on the world's disk.
bool disk_is_inside(const char *path);
// Of descriptors that are none of the simulated ones.
ssize_t disk_read(int descriptor, void *bytes, size_t count);
ssize_t disk_write(int descriptor, const void *bytes, size_t count);
ssize_t disk_splice(int from, off64_t *from_place, int to, off64_t *to_place, size_t count, unsigned flags);

// ---- SystemFiles.c

// False if the path is of none of those that are simulated. The descriptor is -1 with errno if there is no such file.
bool system_file_open(const char *path, int *descriptor);

// ---- DiskImage.c: what was done to the disk. Paths are whole ones.

void disk_image_begin(const char *root);
// A new file or folder. A file without a name has a descriptor only.
void disk_image_created(const char *path, int descriptor);
void disk_image_linked(const char *path);
void disk_image_removed(const char *path);
void disk_image_renamed(const char *from, const char *to);
void disk_image_exchanged(const char *one, const char *other);
void disk_image_written(int descriptor, off_t offset, const void *bytes, size_t count);
void disk_image_truncated(int descriptor, off_t length);
void disk_image_synchronized(int descriptor);
// The power fails: what is left on the disk is what is there from now on.
void disk_image_lose(void);
// Whether the file is on the disk, by its number, which a file system in memory gives to no other one later.
struct stat;
bool disk_image_has(const struct stat *status);
// Of a file on the disk; others keep theirs.
void disk_image_set_times(struct stat *status);
// False for a file that is not on the disk.
bool disk_image_give_time(const struct stat *status, const struct timespec *modified);
// How often the machine was started.
int disk_boots(void);

#endif
