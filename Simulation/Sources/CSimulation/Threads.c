// pthreads, semaphores and futexes.
#include "Kernel.h"
#include "Scheduler.h"
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WITHOUT_SIMULATION(call) if (!kernel_is_simulated()) return call

// A date of a clock, as a date of the simulation.
static simulation_time date_on(clockid_t clock, const struct timespec *date) {
    struct timespec clock_now;
    clock_gettime(clock, &clock_now);
    simulation_time left = (date->tv_sec - clock_now.tv_sec) * 1000000000 + date->tv_nsec - clock_now.tv_nsec;
    return simulation_now() + (left > 0 ? left : 0);
}

// ---- threads

int pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    WITHOUT_SIMULATION(REAL(pthread_create)(handle, attributes, start, argument));
    return kernel_start_thread(handle, attributes, start, argument);
}

int pthread_join(pthread_t handle, void **result) {
    WITHOUT_SIMULATION(REAL(pthread_join)(handle, result));
    struct thread *thread = kernel_thread(handle);
    if (thread == NULL) return ESRCH;
    while (thread->state != thread_ended) kernel_wait(thread, FOREVER, "pthread_join");
    int done = REAL(pthread_join)(handle, result);
    thread->is_joinable = thread->has_handle = false;
    return done;
}

int pthread_detach(pthread_t handle) {
    if (kernel_is_simulated()) {
        struct thread *thread = kernel_thread(handle);
        if (thread != NULL) thread->is_joinable = false;
    }
    return REAL(pthread_detach)(handle);
}

int pthread_setname_np(pthread_t handle, const char *name) {
    if (!kernel_is_simulated() || !pthread_equal(handle, pthread_self())) return REAL(pthread_setname_np)(handle, name);
    kernel_name_current(name);
    return 0;
}

int sched_yield(void) {
    WITHOUT_SIMULATION(REAL(sched_yield)());
    // A spinning thread waits for another one, which may need time to pass.
    kernel_wait(&errno, simulation_now() + 1000, "sched_yield");
    return 0;
}

int pthread_once(pthread_once_t *once, void (*initialize)(void)) {
    WITHOUT_SIMULATION(REAL(pthread_once)(once, initialize));
    // The C library would keep a second thread waiting in the real kernel while the first one is interrupted.
    kernel_begin_atomic();
    int done = REAL(pthread_once)(once, initialize);
    kernel_end_atomic();
    return done;
}

// Not the one that runs them all, and the same in each run.
pid_t gettid(void) {
    return kernel_is_simulated() ? kernel_thread_number() : (pid_t)REAL(syscall)(SYS_gettid);
}

// Of Dispatch's threads. In the real kernel it would be that of the one that runs them all.
int setpriority(__priority_which_t which, id_t who, int priority) {
    WITHOUT_SIMULATION(REAL(setpriority)(which, who, priority));
    return 0;
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
    WITHOUT_SIMULATION(REAL(pthread_sigmask)(how, set, before));
    // No signal of the real kernel is for a thread of the simulation. What a new thread inherits is not simulated.
    static __thread sigset_t blocked;
    const sigset_t old = blocked;
    if (set != NULL) {
        if (how == SIG_SETMASK) blocked = *set;
        else for (int i = 1; i < NSIG; i++) {
            if (sigismember(set, i) == 1) (how == SIG_BLOCK ? sigaddset : sigdelset)(&blocked, i);
        }
    }
    if (before != NULL) *before = old;
    return 0;
}

int sigprocmask(int how, const sigset_t *set, sigset_t *before) {
    WITHOUT_SIMULATION(REAL(sigprocmask)(how, set, before));
    return pthread_sigmask(how, set, before);
}

// ---- mutexes

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    WITHOUT_SIMULATION(REAL(pthread_mutex_lock)(mutex));
    kernel_step("pthread_mutex_lock");
    for (;;) {
        int done = REAL(pthread_mutex_trylock)(mutex);
        if (done != EBUSY) return done;
        kernel_wait(mutex, FOREVER, "pthread_mutex_lock");
    }
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *date) {
    WITHOUT_SIMULATION(REAL(pthread_mutex_timedlock)(mutex, date));
    simulation_time until = date_on(CLOCK_REALTIME, date);
    for (;;) {
        int done = REAL(pthread_mutex_trylock)(mutex);
        if (done != EBUSY) return done;
        if (!kernel_wait(mutex, until, "pthread_mutex_timedlock")) return ETIMEDOUT;
    }
}

int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    if (kernel_is_simulated()) kernel_step("pthread_mutex_trylock");
    return REAL(pthread_mutex_trylock)(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    int done = REAL(pthread_mutex_unlock)(mutex);
    if (kernel_is_simulated()) {
        kernel_wake(mutex, 1);
        kernel_step("pthread_mutex_unlock");
    }
    return done;
}

// ---- reader-writer locks

int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    WITHOUT_SIMULATION(REAL(pthread_rwlock_rdlock)(lock));
    kernel_step("pthread_rwlock_rdlock");
    for (;;) {
        int done = REAL(pthread_rwlock_tryrdlock)(lock);
        if (done != EBUSY) return done;
        kernel_wait(lock, FOREVER, "pthread_rwlock_rdlock");
    }
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    WITHOUT_SIMULATION(REAL(pthread_rwlock_wrlock)(lock));
    kernel_step("pthread_rwlock_wrlock");
    for (;;) {
        int done = REAL(pthread_rwlock_trywrlock)(lock);
        if (done != EBUSY) return done;
        kernel_wait(lock, FOREVER, "pthread_rwlock_wrlock");
    }
}

int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    int done = REAL(pthread_rwlock_unlock)(lock);
    if (kernel_is_simulated()) {
        kernel_wake(lock, INT_MAX);
        kernel_step("pthread_rwlock_unlock");
    }
    return done;
}

// ---- condition variables

static clockid_t clock_of(const pthread_cond_t *condition) {
    // The C library keeps the clock in this bit of the condition variable (glibc 2.25 and later).
    return (condition->__data.__wrefs & 2) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

// Conditions and futexes may, and programs have to look again.
static bool wakes_for_no_reason(void) { return simulation_random(64) == 0; }

static int wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, simulation_time until, const char *reason) {
    kernel_begin_atomic();
    pthread_mutex_unlock(mutex);
    kernel_end_atomic();
    bool was_woken = wakes_for_no_reason() || kernel_wait(condition, until, reason);
    pthread_mutex_lock(mutex);
    return was_woken ? 0 : ETIMEDOUT;
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    WITHOUT_SIMULATION(REAL(pthread_cond_wait)(condition, mutex));
    return wait_for(condition, mutex, FOREVER, "pthread_cond_wait");
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *date) {
    WITHOUT_SIMULATION(REAL(pthread_cond_timedwait)(condition, mutex, date));
    return wait_for(condition, mutex, date_on(clock_of(condition), date), "pthread_cond_timedwait");
}

int pthread_cond_clockwait(
    pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *date) {
    WITHOUT_SIMULATION(REAL(pthread_cond_clockwait)(condition, mutex, clock, date));
    return wait_for(condition, mutex, date_on(clock, date), "pthread_cond_clockwait");
}

int pthread_cond_signal(pthread_cond_t *condition) {
    WITHOUT_SIMULATION(REAL(pthread_cond_signal)(condition));
    kernel_wake(condition, 1);
    kernel_step("pthread_cond_signal");
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t *condition) {
    WITHOUT_SIMULATION(REAL(pthread_cond_broadcast)(condition));
    kernel_wake(condition, INT_MAX);
    kernel_step("pthread_cond_broadcast");
    return 0;
}

// ---- semaphores

static int wait_for_semaphore(sem_t *semaphore, simulation_time until, const char *reason) {
    kernel_step(reason);
    while (sem_trywait(semaphore) != 0) {
        if (errno != EAGAIN) return -1;
        if (!kernel_wait(semaphore, until, reason)) {
            errno = ETIMEDOUT;
            return -1;
        }
    }
    return 0;
}

int sem_wait(sem_t *semaphore) {
    WITHOUT_SIMULATION(REAL(sem_wait)(semaphore));
    return wait_for_semaphore(semaphore, FOREVER, "sem_wait");
}

int sem_timedwait(sem_t *semaphore, const struct timespec *date) {
    WITHOUT_SIMULATION(REAL(sem_timedwait)(semaphore, date));
    return wait_for_semaphore(semaphore, date_on(CLOCK_REALTIME, date), "sem_timedwait");
}

int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *date) {
    WITHOUT_SIMULATION(REAL(sem_clockwait)(semaphore, clock, date));
    return wait_for_semaphore(semaphore, date_on(clock, date), "sem_clockwait");
}

int sem_post(sem_t *semaphore) {
    int done = REAL(sem_post)(semaphore);
    if (kernel_is_simulated()) {
        kernel_wake(semaphore, 1);
        kernel_step("sem_post");
    }
    return done;
}

// ---- futexes, which the Swift runtime, Dispatch and this library reach by syscall()

static long simulated_futex(uint32_t *word, int operation, uint32_t value, const struct timespec *timeout) {
    simulation_time until = FOREVER;
    switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
        kernel_step("futex");
        if (timeout != NULL) {
            until = (operation & FUTEX_CMD_MASK) == FUTEX_WAIT
                ? simulation_now() + timeout->tv_sec * 1000000000 + timeout->tv_nsec
                : date_on((operation & FUTEX_CLOCK_REALTIME) ? CLOCK_REALTIME : CLOCK_MONOTONIC, timeout);
        }
        // Nothing that may hand over is between this and the wait.
        if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
            errno = EAGAIN;
            return -1;
        }
        if (wakes_for_no_reason()) return 0;
        if (kernel_wait(word, until, "futex")) return 0;
        errno = ETIMEDOUT;
        return -1;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: {
        long woken = kernel_wake(word, (int)(value > INT_MAX ? INT_MAX : value));
        kernel_step("futex");
        return woken;
    }
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2: {
        kernel_step("futex");
        if (timeout != NULL) until = date_on(CLOCK_REALTIME, timeout);
        uint32_t self = (uint32_t)gettid();
        for (;;) {
            uint32_t found = __atomic_load_n(word, __ATOMIC_SEQ_CST);
            if ((found & FUTEX_TID_MASK) == 0) {
                __atomic_store_n(word, self | (found & FUTEX_WAITERS), __ATOMIC_SEQ_CST);
                return 0;
            }
            if ((found & FUTEX_TID_MASK) == self) {
                errno = EDEADLK;
                return -1;
            }
            __atomic_store_n(word, found | FUTEX_WAITERS, __ATOMIC_SEQ_CST);
            if (!kernel_wait(word, until, "futex of a lock")) {
                errno = ETIMEDOUT;
                return -1;
            }
        }
    }
    case FUTEX_TRYLOCK_PI:
        if ((__atomic_load_n(word, __ATOMIC_SEQ_CST) & FUTEX_TID_MASK) != 0) {
            errno = EAGAIN;
            return -1;
        }
        __atomic_store_n(word, (uint32_t)gettid() | (*word & FUTEX_WAITERS), __ATOMIC_SEQ_CST);
        return 0;
    case FUTEX_UNLOCK_PI:
        __atomic_store_n(word, 0, __ATOMIC_SEQ_CST);
        // All of them: the one that gets the lock says again that others wait.
        kernel_wake(word, INT_MAX);
        kernel_step("futex");
        return 0;
    default:
        kernel_fail(simulation_stuck, "futex operation %d is not simulated", operation);
    }
}

long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long),
         e = va_arg(list, long), f = va_arg(list, long);
    va_end(list);
    if (kernel_is_simulated()) {
        if (number == SYS_futex) return simulated_futex((uint32_t *)a, (int)b, (uint32_t)c, (const struct timespec *)d);
        if (number == SYS_gettid) return gettid();
        if (number == SYS_getpid) return getpid();
        if (number == SYS_getrandom) return getrandom((void *)a, (size_t)b, (unsigned)c);
    }
    return REAL(syscall)(number, a, b, c, d, e, f);
}

// ---- the loader, which has a lock that the C library takes by itself

void *dlopen(const char *path, int mode) {
    WITHOUT_SIMULATION(REAL(dlopen)(path, mode));
    kernel_begin_atomic();
    void *done = REAL(dlopen)(path, mode);
    kernel_end_atomic();
    return done;
}
