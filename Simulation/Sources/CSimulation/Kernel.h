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

// ---- memory (SharedMemory.c)

// What the kernel knows is in memory that all processes of a world have, if it has several: its variables, which are in these sections, and
// what it allocates.
#pragma clang section bss = "simulated_zero" data = "simulated_data"

void *kernel_allocate(size_t size);
void *kernel_allocate_cleared(size_t count, size_t size);
void *kernel_reallocate(void *memory, size_t size);
char *kernel_copy_text(const char *text);
void kernel_free(void *memory);
#define malloc kernel_allocate
#define calloc kernel_allocate_cleared
#define realloc kernel_reallocate
#define strdup kernel_copy_text
#define free kernel_free

void kernel_share_memory(void);
bool kernel_is_shared(const void *address);

// The C library's own function of that name.
#define REAL(function) ({ \
    static __typeof__(function) *real; \
    if (real == NULL) real = (__typeof__(function) *)kernel_real(#function); \
    real; \
})
void *kernel_real(const char *name);
// The C library's, which is not called by way of a function that this target defines.
_Noreturn void kernel_exit(int status);

// ---- threads (Scheduler.c)

// Whether the calling thread is one of the simulation: else its calls go to the C library.
bool kernel_is_simulated(void);
#define FOREVER ((simulation_time)-1)
// Waits until `kernel_wake` is called with the same address, or until the date. False: the date came. Other threads run.
bool kernel_wait(const void *address, simulation_time until, const char *reason);
// Makes threads runnable that wait at the address, at most `most`, and returns how many.
int kernel_wake(const void *address, int most);
// The same, of one process.
int kernel_wake_process(const void *address, int most, int process);
// A call into the kernel: another thread may go on first.
void kernel_step(const char *call);
// Between these two, the calling thread is not interrupted.
void kernel_begin_atomic(void);
void kernel_end_atomic(void);
bool kernel_may_hand_over(void);
void kernel_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void kernel_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

// ---- what happens (Recording.c)

void kernel_begin_recording(const char *path);
// For the next world.
void kernel_clear_recording(void);
void kernel_record(int thread, const char *text);

// ---- processes (Processes.c)

// Ends this one, after a power cut, for another one of the same world.
_Noreturn void kernel_restart(void);

// ---- several processes of a world (Programs.c)

// Number 0 has the hosts. It is the only one in most worlds.
enum { most_processes = 32 };
int kernel_process(void);
bool kernel_has_processes(void);
// A call of a process that may be killed at it. Does not return if it is.
void kernel_count_call(void);
// 0 if it is none of the world.
pid_t kernel_number_of_real_process(pid_t real);
// Does not return in a process that ends by it, in the middle of what the calling thread does.
void kernel_cut_power_of_processes(void);
// With the status, whichever process calls.
_Noreturn void kernel_end_world(int status);

// ---- the machine's addresses (Interface.c)

// 0 if it has none of the family.
simulation_address kernel_own_address(int family);
bool kernel_has_address(simulation_address address);
bool kernel_has_network(void);

// ---- addresses (Names.c)

struct sockaddr;
// False if there is no way to its network.
bool kernel_read_address(const struct sockaddr *address, simulation_address *found, uint16_t *port);
// Returns the size.
unsigned kernel_write_address(struct sockaddr *address, unsigned capacity, simulation_address host, uint16_t port);

// ---- certificates (TLSServer.c)

// The certificate of a host and its key, as PEM. The caller frees both.
void kernel_tls_identity(simulation_tls_host *host, char **certificate, char **key);

// ---- clocks (Time.c)

// What it shows, as the time since 1970.
simulation_time kernel_wall_clock(void);

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
    // Of a socket (Sockets.h); NULL for other files.
    const struct socket_calls *calls;
};
struct file {
    const struct file_kind *kind;
    int descriptors, process;
    bool is_blocking;
    // Grows with each change that an edge-triggered wait has to see.
    uint64_t changes;
    void *state;
};
int kernel_add_file(const struct file_kind *kind, void *state, bool is_blocking);
// One without a descriptor, and a descriptor for it.
struct file *kernel_make_file(const struct file_kind *kind, void *state, bool is_blocking);
int kernel_open_file(struct file *file);
// In a process that is about to begin.
void kernel_place_file(struct file *file, int process, int descriptor);
// Closes all descriptors of a process that has ended.
void kernel_close_all(int process);
struct file *kernel_file(int descriptor);
// The same after a call into the kernel, which may hand over; NULL too outside the simulation.
struct file *kernel_called(const char *call, int descriptor);
// Wakes whoever waits for it.
void kernel_file_changed(struct file *file);
// Until the file has one of the events; false if it does not block.
bool kernel_wait_for_file(struct file *file, uint32_t events, const char *reason);

// ---- sockets of UNIX (UNIXSockets.c)

struct sockaddr;
// The path of an address. False if it has none.
bool kernel_unix_path(const struct sockaddr *address, char *path);
// One that listens at the path; NULL with errno.
struct file *kernel_unix_listener(const char *path);

#endif
