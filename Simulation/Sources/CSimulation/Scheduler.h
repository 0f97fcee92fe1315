#ifndef SCHEDULER_H
#define SCHEDULER_H

#include "Contexts.h"
#include "Kernel.h"

enum { most_threads = 256 };
enum thread_state { thread_runs, thread_waits, thread_ended, thread_stopped };

struct thread {
    // Its place among all.
    int index;
    int number, process;
    char name[16];
    enum thread_state state;
    // Of a wait.
    const void *address;
    simulation_time until;
    const char *reason;
    bool was_woken;
    // Its own thread of the real kernel, which runs it until it begins and when it has ended.
    pid_t real;
    uint32_t is_left, may_return;
    struct context context;
    // The thread that requested its stack.
    struct thread *asked_by;
    int rounds_of_destructors;
    pthread_t handle;
    bool is_first, has_handle, is_joinable;
    void *(*start)(void *);
    void *argument;
};

int kernel_start_thread(pthread_t *handle, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);
struct thread *kernel_thread(pthread_t handle);
// As programs see it: the number of the process for its first thread.
pid_t kernel_thread_number(void);
// Of the calling process. NULL if it has no such thread.
struct thread *kernel_thread_numbered(pid_t number);
void kernel_name_current(const char *name);

// The first thread of another process. It runs there after kernel_become.
struct thread *kernel_add_first_thread(int process, const char *name);
// Returns when it is its turn. NULL for a thread that is none of the simulation.
void kernel_become(struct thread *thread);
// No thread of the process runs any more. Does not return if the caller is one.
void kernel_stop_threads(int process);
// Its real process has ended.
void kernel_forget_threads(int process);

#endif
