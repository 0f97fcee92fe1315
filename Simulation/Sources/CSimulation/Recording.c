// What happens in a world, in a file that outlives its processes: if two runs of a world differ, the campaign looks where they begin to.
#include "Kernel.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

// Later events of a world that has more are not there.
enum { capacity = 4 << 20 };
// How much of it is used, with these octets; events follow.
static uint64_t *used;

void kernel_begin_recording(const char *path) {
    int file = REAL(open)(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || REAL(ftruncate)(file, capacity) != 0) kernel_exit(1);
    used = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (used == MAP_FAILED) kernel_exit(1);
    REAL(close)(file);
}

void kernel_clear_recording(void) {
    if (used != NULL) *used = sizeof *used;
}

void kernel_record(int thread, const char *text) {
    if (used == NULL) return;
    size_t length = strlen(text);
    simulation_event event = { simulation_now(), thread, (int32_t)length };
    if (*used + sizeof event + length > capacity) return;
    char *place = (char *)used + *used;
    memcpy(place, &event, sizeof event);
    memcpy(place + sizeof event, text, length);
    *used += sizeof event + length;
}
