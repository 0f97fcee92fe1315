// The table of simulated descriptors, what waits for many of them (epoll, poll), and eventfd. A descriptor's number is that of
// /dev/null, opened for it, so that the real kernel gives it to no other file.
#include "Disk.h"
#include "Kernel.h"
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

enum { most_descriptors = 1024 };
static struct file *tables[most_processes][most_descriptors];
#define files tables[kernel_process()]

struct file *kernel_file(int descriptor) {
    return descriptor >= 0 && descriptor < most_descriptors ? files[descriptor] : NULL;
}

struct file *kernel_called(const char *call, int descriptor) {
    if (!kernel_is_simulated()) return NULL;
    kernel_step(call);
    return kernel_file(descriptor);
}

struct file *kernel_make_file(const struct file_kind *kind, void *state, bool is_blocking) {
    struct file *file = calloc(1, sizeof *file);
    file->kind = kind;
    file->state = state;
    file->is_blocking = is_blocking;
    return file;
}

int kernel_open_file(struct file *file) {
    int descriptor = REAL(open)("/dev/null", O_RDWR | O_CLOEXEC);
    if (descriptor < 0 || descriptor >= most_descriptors) kernel_fail(simulation_stuck, "no descriptor is left");
    files[descriptor] = file;
    file->process = kernel_process();
    file->descriptors++;
    return descriptor;
}

void kernel_place_file(struct file *file, int process, int descriptor) {
    tables[process][descriptor] = file;
    file->process = process;
    file->descriptors++;
}

int kernel_add_file(const struct file_kind *kind, void *state, bool is_blocking) {
    int descriptor = kernel_open_file(kernel_make_file(kind, state, is_blocking));
    kernel_step(kind->name);
    return descriptor;
}

static int changed;

void kernel_file_changed(struct file *file) {
    file->changes++;
    kernel_wake_process(&changed, INT_MAX, file->process);
}

bool kernel_wait_for_file(struct file *file, uint32_t events, const char *reason) {
    while ((file->kind->readiness(file) & (events | EPOLLERR | EPOLLHUP)) == 0) {
        if (!file->is_blocking) return false;
        kernel_wait(&changed, FOREVER, reason);
    }
    return true;
}

// ---- epoll

struct interest {
    int descriptor;
    struct file *file;
    struct epoll_event event;
    uint64_t reported_changes;
    bool is_disabled;
    struct interest *next;
};
struct epoll { struct interest *first; };

static uint32_t interest_readiness(struct interest *interest) {
    if (interest->is_disabled) return 0;
    if ((interest->event.events & EPOLLET) && interest->reported_changes == interest->file->changes + 1) return 0;
    return interest->file->kind->readiness(interest->file) & (interest->event.events | EPOLLERR | EPOLLHUP);
}

static uint32_t epoll_readiness(struct file *file) {
    struct epoll *epoll = file->state;
    for (struct interest *interest = epoll->first; interest != NULL; interest = interest->next) {
        if (interest_readiness(interest) != 0) return EPOLLIN;
    }
    return 0;
}

static void epoll_close(struct file *file) {
    struct epoll *epoll = file->state;
    for (struct interest *interest = epoll->first, *next; interest != NULL; interest = next) {
        next = interest->next;
        free(interest);
    }
    free(epoll);
}

static const struct file_kind epoll_kind = { .name = "epoll", .readiness = epoll_readiness, .close = epoll_close };

int epoll_create1(int flags) {
    if (!kernel_is_simulated()) return REAL(epoll_create1)(flags);
    return kernel_add_file(&epoll_kind, calloc(1, sizeof(struct epoll)), true);
}

int epoll_ctl(int poll, int operation, int descriptor, struct epoll_event *event) {
    struct file *file = kernel_called("epoll_ctl", poll);
    if (file == NULL) return REAL(epoll_ctl)(poll, operation, descriptor, event);
    struct file *target = kernel_file(descriptor);
    if (target == NULL) {
        errno = fcntl(descriptor, F_GETFD) < 0 ? EBADF : EPERM;
        return -1;
    }
    struct epoll *epoll = file->state;
    struct interest **link = &epoll->first;
    while (*link != NULL && ((*link)->descriptor != descriptor || (*link)->file != target)) link = &(*link)->next;
    struct interest *found = *link;
    if ((operation == EPOLL_CTL_ADD) != (found == NULL)) {
        errno = found == NULL ? ENOENT : EEXIST;
        return -1;
    }
    if (operation == EPOLL_CTL_DEL) {
        *link = found->next;
        free(found);
        return 0;
    }
    if (found == NULL) {
        *link = found = calloc(1, sizeof *found);
        found->descriptor = descriptor;
        found->file = target;
    }
    found->event = *event;
    found->is_disabled = false;
    found->reported_changes = 0;
    kernel_wake_process(&changed, INT_MAX, kernel_process());
    return 0;
}

static simulation_time after(int milliseconds) {
    return milliseconds < 0 ? FOREVER : simulation_now() + milliseconds * 1000000LL;
}

int epoll_wait(int poll, struct epoll_event *events, int most, int timeout) {
    struct file *file = kernel_called("epoll_wait", poll);
    if (file == NULL) return REAL(epoll_wait)(poll, events, most, timeout);
    simulation_time until = after(timeout);
    for (;;) {
        int found = 0;
        struct epoll *epoll = file->state;
        int count = 0;
        for (struct interest *interest = epoll->first; interest != NULL; interest = interest->next) count++;
        // In any order.
        struct interest *interest = epoll->first;
        for (int skipped = (int)simulation_random((uint64_t)count); skipped > 0; skipped--) interest = interest->next;
        for (; count > 0 && found < most; count--, interest = interest->next != NULL ? interest->next : epoll->first) {
            uint32_t ready = interest_readiness(interest);
            if (ready == 0) continue;
            events[found++] = (struct epoll_event){ .events = ready, .data = interest->event.data };
            // One more than the number, so that 0 is "nothing reported".
            interest->reported_changes = interest->file->changes + 1;
            if (interest->event.events & EPOLLONESHOT) interest->is_disabled = true;
        }
        if (found > 0 || (until >= 0 && simulation_now() >= until)) return found;
        kernel_wait(&changed, until, "epoll_wait");
    }
}

// A descriptor that is closed leaves every epoll, if it was the file's last.
static void forget(struct file *file, int process) {
    struct file **table = tables[process];
    for (int i = 0; i < most_descriptors; i++) {
        if (table[i] == NULL || table[i]->kind != &epoll_kind) continue;
        struct epoll *epoll = table[i]->state;
        for (struct interest **link = &epoll->first; *link != NULL;) {
            struct interest *interest = *link;
            if (interest->file == file) {
                *link = interest->next;
                free(interest);
            } else {
                link = &interest->next;
            }
        }
    }
}

// ---- poll

int ppoll(struct pollfd *list, nfds_t count, const struct timespec *timeout, const sigset_t *signals) {
    if (!kernel_is_simulated()) return REAL(ppoll)(list, count, timeout, signals);
    int milliseconds = timeout == NULL ? -1 : (int)(timeout->tv_sec * 1000 + (timeout->tv_nsec + 999999) / 1000000);
    return poll(list, count, milliseconds);
}

int poll(struct pollfd *list, nfds_t count, int timeout) {
    if (!kernel_is_simulated()) return REAL(poll)(list, count, timeout);
    kernel_step("poll");
    simulation_time until = after(timeout);
    for (;;) {
        int found = 0;
        for (nfds_t i = 0; i < count; i++) {
            struct file *file = kernel_file(list[i].fd);
            list[i].revents = 0;
            if (file != NULL) {
                uint32_t wanted = (uint32_t)(uint16_t)list[i].events | POLLERR | POLLHUP;
                list[i].revents = (short)(file->kind->readiness(file) & wanted);
            } else if (list[i].fd >= 0) {
                REAL(poll)(&list[i], 1, 0);
            }
            found += list[i].revents != 0;
        }
        if (found > 0 || (until >= 0 && simulation_now() >= until)) return found;
        kernel_wait(&changed, until, "poll");
    }
}

// ---- eventfd

struct counter { uint64_t value; bool is_semaphore; };

static uint32_t counter_readiness(struct file *file) {
    struct counter *counter = file->state;
    return (counter->value > 0 ? EPOLLIN : 0) | EPOLLOUT;
}

static ssize_t counter_read(struct file *file, void *bytes, size_t count) {
    struct counter *counter = file->state;
    if (!kernel_wait_for_file(file, EPOLLIN, "read of an eventfd")) {
        errno = EAGAIN;
        return -1;
    }
    uint64_t value = counter->is_semaphore ? 1 : counter->value;
    counter->value -= value;
    memcpy(bytes, &value, sizeof value);
    return sizeof value;
}

static ssize_t counter_write(struct file *file, const void *bytes, size_t count) {
    struct counter *counter = file->state;
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    counter->value += value;
    kernel_file_changed(file);
    return sizeof value;
}

static void counter_close(struct file *file) { free(file->state); }

static const struct file_kind counter_kind = {
    .name = "eventfd", .readiness = counter_readiness, .read = counter_read, .write = counter_write, .close = counter_close,
};

int eventfd(unsigned value, int flags) {
    if (!kernel_is_simulated()) return REAL(eventfd)(value, flags);
    struct counter *counter = calloc(1, sizeof *counter);
    *counter = (struct counter){ value, (flags & EFD_SEMAPHORE) != 0 };
    return kernel_add_file(&counter_kind, counter, (flags & EFD_NONBLOCK) == 0);
}

int eventfd_read(int descriptor, eventfd_t *value) {
    return read(descriptor, value, sizeof *value) == sizeof *value ? 0 : -1;
}

int eventfd_write(int descriptor, eventfd_t value) {
    return write(descriptor, &value, sizeof value) == sizeof value ? 0 : -1;
}

// ---- every descriptor

ssize_t read(int descriptor, void *bytes, size_t count) {
    struct file *file = kernel_called("read", descriptor);
    if (file == NULL) return disk_read(descriptor, bytes, count);
    if (file->kind->read == NULL) {
        errno = EINVAL;
        return -1;
    }
    return file->kind->read(file, bytes, count);
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    struct file *file = kernel_called("write", descriptor);
    if (file == NULL) return disk_write(descriptor, bytes, count);
    if (file->kind->write == NULL) {
        errno = EINVAL;
        return -1;
    }
    return file->kind->write(file, bytes, count);
}

static void release(int descriptor, int process) {
    struct file *file = tables[process][descriptor];
    tables[process][descriptor] = NULL;
    if (--file->descriptors > 0) return;
    forget(file, process);
    file->kind->close(file);
    free(file);
}

void kernel_close_all(int process) {
    for (int i = 0; i < most_descriptors; i++) if (tables[process][i] != NULL) release(i, process);
}

int close(int descriptor) {
    struct file *file = kernel_called("close", descriptor);
    if (file == NULL) {
        int done = REAL(close)(descriptor);
        // With another order of threads this would be a descriptor of another owner.
        if (done != 0 && errno == EBADF && descriptor >= 0 && kernel_is_simulated()) {
            kernel_fail(simulation_stuck, "descriptor %d is closed, and was not open", descriptor);
        }
        return done;
    }
    release(descriptor, kernel_process());
    return REAL(close)(descriptor);
}

// What nothing here uses, and would otherwise reach /dev/null.
static void refuse(const char *call, int descriptor) {
    if (kernel_is_simulated() && kernel_file(descriptor) != NULL) kernel_fail(simulation_stuck, "%s is not simulated", call);
}

ssize_t readv(int descriptor, const struct iovec *parts, int count) {
    refuse("readv", descriptor);
    return REAL(readv)(descriptor, parts, count);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    refuse("writev", descriptor);
    return REAL(writev)(descriptor, parts, count);
}

ssize_t sendfile(int to, int from, off_t *offset, size_t count) {
    refuse("sendfile", to);
    return REAL(sendfile)(to, from, offset, count);
}

static int duplicate(int descriptor, struct file *file) {
    if (descriptor < 0) return -1;
    if (descriptor >= most_descriptors) kernel_fail(simulation_stuck, "no descriptor is left");
    files[descriptor] = file;
    file->descriptors++;
    return descriptor;
}

int dup(int descriptor) {
    struct file *file = kernel_is_simulated() ? kernel_file(descriptor) : NULL;
    int copy = REAL(dup)(descriptor);
    return file == NULL ? copy : duplicate(copy, file);
}

static int control(int descriptor, int command, long argument) {
    struct file *file = kernel_is_simulated() ? kernel_file(descriptor) : NULL;
    if (file == NULL && command == F_GETLK && kernel_has_processes()) {
        int done = REAL(fcntl)(descriptor, command, argument);
        struct flock *lock = (struct flock *)argument;
        if (done == 0 && lock->l_type != F_UNLCK) lock->l_pid = kernel_number_of_real_process(lock->l_pid);
        return done;
    }
    if (file == NULL) return REAL(fcntl)(descriptor, command, argument);
    switch (command) {
    case F_GETFL: return O_RDWR | (file->is_blocking ? 0 : O_NONBLOCK);
    case F_SETFL:
        file->is_blocking = (argument & O_NONBLOCK) == 0;
        return 0;
    case F_DUPFD:
    case F_DUPFD_CLOEXEC: return duplicate(REAL(fcntl)(descriptor, command, argument), file);
    default: return REAL(fcntl)(descriptor, command, argument);
    }
}

int fcntl(int descriptor, int command, ...) {
    va_list list;
    va_start(list, command);
    long argument = va_arg(list, long);
    va_end(list);
    return control(descriptor, command, argument);
}

int fcntl64(int descriptor, int command, ...) {
    va_list list;
    va_start(list, command);
    long argument = va_arg(list, long);
    va_end(list);
    return control(descriptor, command, argument);
}
