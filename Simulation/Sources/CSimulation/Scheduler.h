#ifndef SCHEDULER_H
#define SCHEDULER_H

#include "Kernel.h"

enum { most_threads = 256 };
enum thread_state { thread_runs, thread_waits, thread_ended };

struct thread {
    int number;
    char name[16];
    enum thread_state state;
    // Of a wait.
    const void *address;
    simulation_time until;
    const char *reason;
    bool was_woken;
    uint32_t may_go;
    int has_shown, rounds_of_destructors;
    pthread_t handle;
    bool has_handle, is_joinable;
    void *(*start)(void *);
    void *argument;
};

int kernel_start_thread(pthread_t *handle, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);
struct thread *kernel_thread(pthread_t handle);
void kernel_name_current(const char *name);

#endif
