#include "hold.h"

#include "connection.h"

#include <limits.h>
#include <stdlib.h>

static struct connection **heap;
static size_t count, capacity;

static void place(size_t index, struct connection *connection) {
    heap[index] = connection;
    connection->hold_index = index;
}

static void sift_up(size_t index, struct connection *connection) {
    while (index > 0) {
        size_t parent = (index - 1) / 2;
        if (heap[parent]->deadline <= connection->deadline) break;
        place(index, heap[parent]);
        index = parent;
    }
    place(index, connection);
}

static void sift_down(size_t index, struct connection *connection) {
    for (;;) {
        size_t child = 2 * index + 1;
        if (child >= count) break;
        if (child + 1 < count && heap[child + 1]->deadline < heap[child]->deadline) child++;
        if (connection->deadline <= heap[child]->deadline) break;
        place(index, heap[child]);
        index = child;
    }
    place(index, connection);
}

bool hold_add(struct connection *connection, uint64_t deadline) {
    if (count == capacity) {
        size_t wanted = capacity ? capacity * 2 : 1024;
        struct connection **grown = realloc(heap, wanted * sizeof *grown);
        if (!grown) return false;
        heap = grown;
        capacity = wanted;
    }
    connection->deadline = deadline;
    connection->held = true;
    count++;
    sift_up(count - 1, connection);
    return true;
}

void hold_remove(struct connection *connection) {
    size_t index = connection->hold_index;
    connection->held = false;
    struct connection *last = heap[--count];
    if (last == connection) return;
    sift_up(index, last);
    sift_down(last->hold_index, last);
}

struct connection *hold_take_due(uint64_t now) {
    if (count == 0 || heap[0]->deadline > now) return NULL;
    struct connection *first = heap[0];
    hold_remove(first);
    return first;
}

int hold_milliseconds_to_next(uint64_t now) {
    if (count == 0) return -1;
    if (heap[0]->deadline <= now) return 0;
    uint64_t wait = (heap[0]->deadline - now + 999999) / 1000000;
    return wait > INT_MAX ? INT_MAX : (int)wait;
}
