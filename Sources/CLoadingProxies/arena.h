// The memory of a script: as much as there is of it, and no more.
#ifndef CLX_ARENA_H
#define CLX_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    // Blocks are powers of two.
    CLX_ARENA_LEAST = 5,
    CLX_ARENA_CLASSES = 32,
};

typedef struct clx_block {
    struct clx_block *next;
} clx_block;

typedef struct {
    char *next;
    char *end;
    clx_block *free[CLX_ARENA_CLASSES];
} clx_arena;

// `memory` is aligned to 16 bytes.
void clx_arena_begin(clx_arena *arena, void *memory, size_t size);

// With Duktape's signatures.
void *clx_arena_allocate(void *arena, size_t size);
void *clx_arena_reallocate(void *arena, void *block, size_t size);
void clx_arena_free(void *arena, void *block);

#endif
