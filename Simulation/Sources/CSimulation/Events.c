// What happens at a date, on a thread of its own: packets that arrive, timers that expire.
#include "Kernel.h"
#include "Scheduler.h"

struct event {
    simulation_time date;
    uint64_t order;
    void (*work)(void *context);
    void *context;
};

// A heap: the first one is the next.
static struct event *queue;
static size_t count, capacity;
static uint64_t orders;

static bool is_before(const struct event *a, const struct event *b) {
    return a->date != b->date ? a->date < b->date : a->order < b->order;
}

static void exchange(size_t a, size_t b) {
    struct event other = queue[a];
    queue[a] = queue[b];
    queue[b] = other;
}

void kernel_at(simulation_time date, void (*work)(void *context), void *context) {
    if (count == capacity) {
        capacity = capacity == 0 ? 64 : 2 * capacity;
        queue = realloc(queue, capacity * sizeof *queue);
    }
    size_t place = count++;
    queue[place] = (struct event){ date, orders++, work, context };
    while (place > 0 && is_before(&queue[place], &queue[(place - 1) / 2])) {
        exchange(place, (place - 1) / 2);
        place = (place - 1) / 2;
    }
    if (place == 0) kernel_wake(&queue, 1);
}

static struct event take_first(void) {
    struct event first = queue[0];
    queue[0] = queue[--count];
    for (size_t place = 0;;) {
        size_t least = place, child = 2 * place + 1;
        if (child < count && is_before(&queue[child], &queue[least])) least = child;
        if (child + 1 < count && is_before(&queue[child + 1], &queue[least])) least = child + 1;
        if (least == place) return first;
        exchange(place, least);
        place = least;
    }
}

static void *run_events(void *unused) {
    (void)unused;
    kernel_name_current("the world");
    for (;;) {
        if (count == 0) kernel_wait(&queue, FOREVER, "for an event");
        else if (queue[0].date > simulation_now()) kernel_wait(&queue, queue[0].date, "for an event");
        else {
            struct event event = take_first();
            event.work(event.context);
        }
    }
    return NULL;
}

void kernel_begin_events(void) {
    pthread_t handle;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    kernel_start_thread(&handle, &attributes, run_events, NULL);
    pthread_attr_destroy(&attributes);
}

void simulation_after(simulation_time delay, void (*work)(void *context), void *context) {
    kernel_at(simulation_now() + delay, work, context);
}
