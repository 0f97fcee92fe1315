// Clocks, sleeping and timerfd.
#include "Kernel.h"
#include <sys/epoll.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

// 2026-01-01, where every world begins.
static const simulation_time epoch = 1767225600LL * 1000000000;
static simulation_time wall_difference;

static void timers_after_clock_change(void);

void simulation_set_wall_clock(simulation_time difference) {
    wall_difference = difference;
    kernel_note("the wall clock is set by %.3f s", (double)difference / 1e9);
    timers_after_clock_change();
}

static bool is_wall_clock(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }
static simulation_time now_on(clockid_t clock) {
    return simulation_now() + (is_wall_clock(clock) ? epoch + wall_difference : 0);
}
simulation_time kernel_wall_clock(void) { return now_on(CLOCK_REALTIME); }
static simulation_time nanoseconds(const struct timespec *time) { return time->tv_sec * 1000000000LL + time->tv_nsec; }
static struct timespec timespec_of(simulation_time time) {
    return (struct timespec){ .tv_sec = time / 1000000000, .tv_nsec = time % 1000000000 };
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!kernel_is_simulated()) return REAL(clock_gettime)(clock, time);
    kernel_step("clock_gettime");
    *time = timespec_of(now_on(clock));
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    if (!kernel_is_simulated()) return REAL(gettimeofday)(time, zone);
    simulation_time now = now_on(CLOCK_REALTIME);
    *time = (struct timeval){ .tv_sec = now / 1000000000, .tv_usec = now % 1000000000 / 1000 };
    return 0;
}

time_t time(time_t *result) {
    if (!kernel_is_simulated()) return REAL(time)(result);
    time_t now = now_on(CLOCK_REALTIME) / 1000000000;
    if (result != NULL) *result = now;
    return now;
}

static int sleeping;
static void sleep_for(simulation_time duration) {
    simulation_time until = simulation_now() + (duration > 0 ? duration : 0);
    while (kernel_wait(&sleeping, until, "sleeps")) continue;
}

int usleep(useconds_t microseconds) {
    if (!kernel_is_simulated()) return REAL(usleep)(microseconds);
    sleep_for((simulation_time)microseconds * 1000);
    return 0;
}

unsigned sleep(unsigned seconds) {
    if (!kernel_is_simulated()) return REAL(sleep)(seconds);
    sleep_for((simulation_time)seconds * 1000000000);
    return 0;
}

int nanosleep(const struct timespec *duration, struct timespec *left) {
    if (!kernel_is_simulated()) return REAL(nanosleep)(duration, left);
    sleep_for(nanoseconds(duration));
    return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *duration, struct timespec *left) {
    if (!kernel_is_simulated()) return REAL(clock_nanosleep)(clock, flags, duration, left);
    sleep_for(nanoseconds(duration) - ((flags & TIMER_ABSTIME) ? now_on(clock) : 0));
    return 0;
}

// ---- timerfd

struct timer {
    struct file *file;
    clockid_t clock;
    // On the clock; negative if it is not armed.
    simulation_time date, interval;
    bool cancels_on_set, was_set;
    uint64_t expirations;
    // Which arming the event in the queue is of.
    uint64_t arming;
    struct timer *next;
};
static struct timer *timers;

struct expiry { struct timer *timer; uint64_t arming; };

static void arm(struct timer *timer);

static void expire(void *context) {
    struct expiry *expiry = context;
    for (struct timer *timer = timers; timer != NULL; timer = timer->next) {
        if (timer != expiry->timer || timer->arming != expiry->arming) continue;
        timer->expirations++;
        timer->date = timer->interval > 0 ? timer->date + timer->interval : -1;
        kernel_file_changed(timer->file);
        if (timer->interval > 0) arm(timer);
        break;
    }
    free(expiry);
}

static uint64_t armings;

static void arm(struct timer *timer) {
    timer->arming = ++armings;
    if (timer->date < 0) return;
    struct expiry *expiry = malloc(sizeof *expiry);
    *expiry = (struct expiry){ timer, timer->arming };
    simulation_time date = timer->date - (now_on(timer->clock) - simulation_now());
    kernel_at(date > simulation_now() ? date : simulation_now(), expire, expiry);
}

static void timers_after_clock_change(void) {
    for (struct timer *timer = timers; timer != NULL; timer = timer->next) {
        if (!is_wall_clock(timer->clock)) continue;
        if (timer->cancels_on_set) {
            timer->was_set = true;
            kernel_file_changed(timer->file);
        }
        arm(timer);
    }
}

static uint32_t timer_readiness(struct file *file) {
    struct timer *timer = file->state;
    return timer->expirations > 0 || timer->was_set ? EPOLLIN : 0;
}

static ssize_t timer_read(struct file *file, void *bytes, size_t count) {
    struct timer *timer = file->state;
    if (count < sizeof timer->expirations) {
        errno = EINVAL;
        return -1;
    }
    if (!kernel_wait_for_file(file, EPOLLIN, "read of a timer")) {
        errno = EAGAIN;
        return -1;
    }
    if (timer->was_set) {
        timer->was_set = false;
        errno = ECANCELED;
        return -1;
    }
    memcpy(bytes, &timer->expirations, sizeof timer->expirations);
    timer->expirations = 0;
    return sizeof timer->expirations;
}

static void timer_close(struct file *file) {
    struct timer **link = &timers;
    while (*link != file->state) link = &(*link)->next;
    *link = (*link)->next;
    free(file->state);
}

static const struct file_kind timer_kind = {
    .name = "timerfd", .readiness = timer_readiness, .read = timer_read, .close = timer_close,
};

int timerfd_create(clockid_t clock, int flags) {
    if (!kernel_is_simulated()) return REAL(timerfd_create)(clock, flags);
    struct timer *timer = calloc(1, sizeof *timer);
    timer->clock = clock;
    timer->date = -1;
    timer->next = timers;
    timers = timer;
    int descriptor = kernel_add_file(&timer_kind, timer, (flags & TFD_NONBLOCK) == 0);
    timer->file = kernel_file(descriptor);
    return descriptor;
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *value, struct itimerspec *old) {
    struct file *file = kernel_called("timerfd_settime", descriptor);
    if (file == NULL) return REAL(timerfd_settime)(descriptor, flags, value, old);
    struct timer *timer = file->state;
    if (old != NULL) memset(old, 0, sizeof *old);
    simulation_time first = nanoseconds(&value->it_value);
    timer->interval = nanoseconds(&value->it_interval);
    timer->date = first == 0 ? -1 : (flags & TFD_TIMER_ABSTIME) ? first : now_on(timer->clock) + first;
    timer->cancels_on_set = (flags & TFD_TIMER_CANCEL_ON_SET) != 0;
    timer->expirations = 0;
    arm(timer);
    // The timer is armed all the same.
    bool was_set = timer->was_set && timer->cancels_on_set;
    timer->was_set = false;
    if (was_set) errno = ECANCELED;
    return was_set ? -1 : 0;
}
