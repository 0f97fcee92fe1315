// Randomness of the seed.
#include "Kernel.h"
#include <sys/random.h>

ssize_t getrandom(void *bytes, size_t count, unsigned flags) {
    if (!kernel_is_simulated()) return REAL(getrandom)(bytes, count, flags);
    for (size_t i = 0; i < count; i++) ((uint8_t *)bytes)[i] = (uint8_t)simulation_random(256);
    return (ssize_t)count;
}

int getentropy(void *bytes, size_t count) {
    if (!kernel_is_simulated()) return REAL(getentropy)(bytes, count);
    getrandom(bytes, count, 0);
    return 0;
}

uint32_t arc4random(void) {
    uint32_t number;
    getentropy(&number, sizeof number);
    return number;
}

void arc4random_buf(void *bytes, size_t count) { getentropy(bytes, count); }

uint32_t arc4random_uniform(uint32_t bound) {
    uint64_t number;
    getentropy(&number, sizeof number);
    return bound == 0 ? 0 : (uint32_t)(number % bound);
}
