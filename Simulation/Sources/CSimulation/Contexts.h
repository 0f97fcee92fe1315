// What a thread has in the processor: one thread of the real kernel runs all simulated threads of its process, one after the other.
#ifndef CONTEXTS_H
#define CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

struct context {
    // Where the registers are that a called function keeps.
    void *stack;
    // Of thread-local variables.
    uintptr_t local;
};

// Goes on in `to`, and returns when another one goes on in `from`.
void context_switch(struct context *from, const struct context *to);
// Leaves `own` to others: the thread of the real kernel sleeps, without its stack, until `may_return` is not 0. Meanwhile the function
// returns wherever another thread of the real kernel goes on in `own`. `is_left` becomes 1 when that is possible.
void context_leave(struct context *own, uint32_t *is_left, uint32_t *may_return);
// One that begins with a function, on this stack, with the thread-local variables of the caller.
struct context context_make(void *stack, uintptr_t size, void (*start)(void));

#endif
