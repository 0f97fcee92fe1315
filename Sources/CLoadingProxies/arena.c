#include "arena.h"

#include <string.h>

// Stands before each block, so that the block is aligned to 16 bytes.
typedef struct {
    size_t class;
    size_t unused;
} header;

void clx_arena_begin(clx_arena *arena, void *memory, size_t size) {
    memset(arena, 0, sizeof *arena);
    arena->next = memory;
    arena->end = arena->next + size;
}

void *clx_arena_allocate(void *context, size_t size) {
    clx_arena *arena = context;
    if (size == 0) return NULL;
    size_t class = CLX_ARENA_LEAST;
    while (class < CLX_ARENA_CLASSES && ((size_t)1 << class) - sizeof(header) < size) class++;
    if (class == CLX_ARENA_CLASSES) return NULL;
    clx_block *known = arena->free[class];
    if (known != NULL) {
        arena->free[class] = known->next;
        return known;
    }
    size_t whole = (size_t)1 << class;
    if ((size_t)(arena->end - arena->next) < whole) return NULL;
    header *head = (header *)arena->next;
    arena->next += whole;
    head->class = class;
    return head + 1;
}

void clx_arena_free(void *context, void *block) {
    clx_arena *arena = context;
    if (block == NULL) return;
    clx_block *freed = block;
    header *head = (header *)block - 1;
    freed->next = arena->free[head->class];
    arena->free[head->class] = freed;
}

void *clx_arena_reallocate(void *context, void *block, size_t size) {
    if (block == NULL) return clx_arena_allocate(context, size);
    if (size == 0) { clx_arena_free(context, block); return NULL; }
    size_t room = ((size_t)1 << ((header *)block - 1)->class) - sizeof(header);
    if (size <= room) return block;
    void *larger = clx_arena_allocate(context, size);
    if (larger == NULL) return NULL;
    memcpy(larger, block, room);
    clx_arena_free(context, block);
    return larger;
}
