// What the parts of the simulated kernel share.
#ifndef KERNEL_H
#define KERNEL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CSimulation.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

// The C library's own function of that name.
#define REAL(function) ({ \
    static __typeof__(function) *real; \
    if (real == NULL) real = (__typeof__(function) *)kernel_real(#function); \
    real; \
})
void *kernel_real(const char *name);

// ---- threads (Scheduler.c)

// Whether the calling thread is one of the simulation: else its calls go to the C library.
bool kernel_is_simulated(void);
#define FOREVER ((simulation_time)-1)
// Waits until `kernel_wake` is called with the same address, or until the date. False: the date came. Other threads run.
bool kernel_wait(const void *address, simulation_time until, const char *reason);
// Makes threads runnable that wait at the address, at most `most`, and returns how many.
int kernel_wake(const void *address, int most);
// A call into the kernel: another thread may go on first.
void kernel_step(const char *call);
// Between these two, the calling thread is not interrupted.
void kernel_begin_atomic(void);
void kernel_end_atomic(void);
bool kernel_may_hand_over(void);
void kernel_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void kernel_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

// ---- processes (Processes.c)

// Ends this one, after a power cut, for another one of the same world.
_Noreturn void kernel_restart(void);

// ---- the machine's addresses (Names.c)

struct sockaddr;
static const simulation_address kernel_own_ipv4 = 0x0A000001, kernel_own_ipv6 = (1ull << 32) + 1;
bool kernel_has_ipv6(void);
// False if it is in no network that there is.
bool kernel_read_address(const struct sockaddr *address, simulation_address *found, uint16_t *port);
// Returns the size.
unsigned kernel_write_address(struct sockaddr *address, unsigned capacity, simulation_address host, uint16_t port);

// ---- certificates (TLSServer.c)

// The certificate of a host and its key, as PEM. The caller frees both.
void kernel_tls_identity(simulation_tls_host *host, char **certificate, char **key);

// ---- events (Events.c)

void kernel_begin_events(void);
// On the thread of events.
void kernel_at(simulation_time date, void (*work)(void *context), void *context);

// ---- descriptors (Descriptors.c)

struct file;
struct file_kind {
    const char *name;
    // EPOLLIN and the like.
    uint32_t (*readiness)(struct file *file);
    ssize_t (*read)(struct file *file, void *bytes, size_t count);
    ssize_t (*write)(struct file *file, const void *bytes, size_t count);
    // The last descriptor was closed.
    void (*close)(struct file *file);
};
struct file {
    const struct file_kind *kind;
    int descriptors;
    bool is_blocking;
    // Grows with each change that an edge-triggered wait has to see.
    uint64_t changes;
    void *state;
};
int kernel_add_file(const struct file_kind *kind, void *state, bool is_blocking);
struct file *kernel_file(int descriptor);
// The same after a call into the kernel, which may hand over; NULL too outside the simulation.
struct file *kernel_called(const char *call, int descriptor);
// Wakes whoever waits for it.
void kernel_file_changed(struct file *file);
// Until the file has one of the events; false if it does not block.
bool kernel_wait_for_file(struct file *file, uint32_t events, const char *reason);

#endif
