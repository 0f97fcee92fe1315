// What the kernel knows, in memory that all processes of a world have. They are forked, so it has the same addresses in each.
#include "Kernel.h"
#include <stdio.h>
#include <sys/mman.h>
#undef malloc
#undef calloc
#undef realloc
#undef strdup
#undef free

// ---- variables: two sections, each on pages of its own

enum { page = 4096 };
extern char __start_simulated_zero[], __stop_simulated_zero[], __start_simulated_data[], __stop_simulated_data[];
// Has each section begin with a page.
__attribute__((used, retain, aligned(4096))) static char aligned_zero[page];
__attribute__((used, retain, aligned(4096))) static char aligned_data[page] = { 1 };
// The linker puts these behind them, so that nothing else is on their last page.
#pragma clang section bss = "simulated_zero_end" data = "simulated_data_end"
__attribute__((used, retain, aligned(4096))) static char end_of_zero[page];
__attribute__((used, retain, aligned(4096))) static char end_of_data[page] = { 1 };
#pragma clang section bss = "simulated_zero" data = "simulated_data"

static char *last_page_of(const char *end) { return (char *)(((uintptr_t)end + page - 1) / page * page); }

static void share(char *start, char *stop, char *behind) {
    char *end = last_page_of(stop);
    if ((uintptr_t)start % page != 0 || end != behind) {
        fprintf(stderr, "simulation: the variables of the kernel have no pages of their own\n");
        abort();
    }
    size_t size = (size_t)(end - start);
    char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) abort();
    memcpy(copy, start, size);
    // Moves the copy to where the variables are.
    if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start) == MAP_FAILED) abort();
}

// ---- what is allocated: blocks of powers of two, after a head that says which

static const size_t arena_size = 16ull << 30;
static char *arena, *arena_next;
struct head { size_t power; struct head *next; };
static struct head *unused[48];

void kernel_share_memory(void) {
    share(__start_simulated_zero, __stop_simulated_zero, end_of_zero);
    share(__start_simulated_data, __stop_simulated_data, end_of_data);
    arena = mmap(NULL, arena_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) abort();
    arena_next = arena;
}

static bool is_in_arena(const void *address) {
    return arena != NULL && (const char *)address >= arena && (const char *)address < arena + arena_size;
}

bool kernel_is_shared(const void *address) {
    const char *place = address;
    return is_in_arena(address) || (place >= __start_simulated_zero && place < __stop_simulated_zero)
        || (place >= __start_simulated_data && place < __stop_simulated_data);
}

void *kernel_allocate(size_t size) {
    if (arena == NULL) return malloc(size);
    size_t power = 5;
    while (((size_t)1 << power) < size + sizeof(struct head)) power++;
    struct head *head = unused[power];
    if (head != NULL) {
        unused[power] = head->next;
    } else {
        head = (struct head *)arena_next;
        arena_next += (size_t)1 << power;
        if (arena_next > arena + arena_size) abort();
    }
    head->power = power;
    return head + 1;
}

void *kernel_allocate_cleared(size_t count, size_t size) {
    if (arena == NULL) return calloc(count, size);
    void *memory = kernel_allocate(count * size);
    return memset(memory, 0, count * size);
}

void *kernel_reallocate(void *memory, size_t size) {
    if (memory == NULL) return kernel_allocate(size);
    if (!is_in_arena(memory)) return realloc(memory, size);
    size_t capacity = ((size_t)1 << ((struct head *)memory - 1)->power) - sizeof(struct head);
    if (size <= capacity) return memory;
    void *larger = kernel_allocate(size);
    memcpy(larger, memory, capacity);
    kernel_free(memory);
    return larger;
}

char *kernel_copy_text(const char *text) {
    size_t size = strlen(text) + 1;
    return memcpy(kernel_allocate(size), text, size);
}

void kernel_free(void *memory) {
    if (!is_in_arena(memory)) {
        free(memory);
        return;
    }
    struct head *head = (struct head *)memory - 1;
    head->next = unused[head->power];
    unused[head->power] = head;
}
