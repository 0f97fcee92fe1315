// Files of the system about the machine, with the contents of the simulated world.
#include "Disk.h"
#include "Kernel.h"
#include "Scheduler.h"
#include <stdio.h>
#include <sys/epoll.h>

static uint32_t readiness(struct file *file) {
    (void)file;
    return EPOLLIN;
}

// ---- texts, each of which is read once

static ssize_t text_read(struct file *file, void *bytes, size_t count) {
    char *text = file->state;
    size_t length = strlen(text);
    if (length < count) count = length;
    memcpy(bytes, text, count);
    memmove(text, text + count, length - count + 1);
    return (ssize_t)count;
}

static void text_close(struct file *file) { free(file->state); }

static const struct file_kind text_kind = { .name = "open", .readiness = readiness, .read = text_read, .close = text_close };

static int open_text(const char *text) { return kernel_add_file(&text_kind, strdup(text), true); }

// ---- randomness

static ssize_t random_read(struct file *file, void *bytes, size_t count) {
    (void)file;
    for (size_t i = 0; i < count; i++) ((uint8_t *)bytes)[i] = (uint8_t)simulation_random(256);
    return (ssize_t)count;
}

static void random_close(struct file *file) { (void)file; }

static const struct file_kind random_kind = {
    .name = "urandom", .readiness = readiness, .read = random_read, .close = random_close,
};

// ---- which

bool system_file_open(const char *path, int *descriptor) {
    if (!kernel_is_simulated() || path == NULL) return false;
    char text[80];
    int number, length = 0;
    // SQLite reads it by itself.
    if (strcmp(path, "/dev/urandom") == 0) {
        *descriptor = kernel_add_file(&random_kind, NULL, true);
    } else if (kernel_has_processes() && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) {
        // Another one after each power cut.
        snprintf(text, sizeof text, "boot-%d\n", disk_boots());
        *descriptor = open_text(text);
    } else if (sscanf(path, "/proc/%d/stat%n", &number, &length) == 1 && length > 0 && path[length] == 0) {
        // Dispatch looks whether its threads run, and starts others if they do not. What the real kernel says follows from when it has
        // time for them.
        struct thread *thread = kernel_thread_numbered(number);
        if (thread == NULL) {
            errno = ENOENT;
            *descriptor = -1;
            return true;
        }
        snprintf(text, sizeof text, "%d (%s) %c\n", number, thread->name, thread->state == thread_runs ? 'R' : 'S');
        *descriptor = open_text(text);
    } else {
        return false;
    }
    return true;
}
