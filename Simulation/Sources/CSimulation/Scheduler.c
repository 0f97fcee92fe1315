// Threads of the process, of which one runs at a time. The next one is chosen at each call into the kernel, by the seed.
// Virtual time moves a little with each call, and to the next date when all threads wait.
#include "Kernel.h"
#include "Scheduler.h"
#include <execinfo.h>
#include <limits.h>
#include <sched.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static const simulation_time cost_of_a_call = 1000;
// A thread that runs for so many calls while time does not get further than their cost has lost its way.
static const uint64_t most_calls_without_waiting = 20 * 1000 * 1000;

static struct thread *threads[most_threads];
static int thread_count;
static __thread struct thread *current;
static bool has_begun;
static simulation_options options;
static uint64_t generator = 1;
static simulation_time now;
static uint64_t events, hash = 14695981039346656037u, calls_since_wait;
static int atomic_depth;

void *kernel_real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        fprintf(stderr, "simulation: the C library has no %s\n", name);
        abort();
    }
    return found;
}

// ---- processes, of which one has its turn

// One thread of the real kernel runs all threads of its process, and sleeps while another process has its turn.
struct turn {
    uint32_t may_go;
    // The thread that continues.
    struct thread *next;
    // Where the real thread is when it runs none of them, and on which stack.
    struct context between;
    void *stack;
    // A thread that has ended, and returns to its own thread of the real kernel.
    struct thread *leaving;
};
static struct turn turns[most_processes];

static long real_futex(uint32_t *word, int operation, uint32_t value) {
    long result;
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    register long r9 __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_futex), "D"(word), "S"((long)operation), "d"((long)value), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static void wait_for_turn(struct turn *turn) {
    while (__atomic_exchange_n(&turn->may_go, 0, __ATOMIC_ACQUIRE) == 0) real_futex(&turn->may_go, FUTEX_WAIT, 0);
}

static void give_turn(struct thread *next) {
    struct turn *turn = &turns[next->process];
    turn->next = next;
    __atomic_store_n(&turn->may_go, 1, __ATOMIC_RELEASE);
    real_futex(&turn->may_go, FUTEX_WAKE, 1);
}

// The C library frees what was the thread's own. Nothing else runs before it is gone: what memory the next allocation gets would
// depend on which of them is faster.
static void let_leave(struct thread *thread) {
    // The thread-local variables here are those of another thread, which does not call.
    int error = errno;
    pid_t process = (pid_t)REAL(syscall)(SYS_getpid), real = thread->real;
    __atomic_store_n(&thread->may_return, 1, __ATOMIC_RELEASE);
    real_futex(&thread->may_return, FUTEX_WAKE_PRIVATE, 1);
    while (tgkill(process, real, 0) == 0) REAL(sched_yield)();
    errno = error;
}

static void run_between(void) {
    int process = kernel_process();
    struct turn *turn = &turns[process];
    for (;;) {
        struct thread *leaving = turn->leaving, *next = turn->next;
        turn->leaving = NULL;
        if (leaving != NULL) let_leave(leaving);
        if (next->process == process) {
            context_switch(&turn->between, &next->context);
        } else {
            give_turn(next);
            wait_for_turn(turn);
        }
    }
}

static void begin_turns(void) {
    const size_t size = 64 * 1024;
    struct turn *turn = &turns[current->process];
    if (turn->stack == NULL) turn->stack = malloc(size);
    turn->between = context_make(turn->stack, size, run_between);
}

// ---- the seed

static uint64_t next_number(void) {
    generator ^= generator << 13;
    generator ^= generator >> 7;
    generator ^= generator << 17;
    return generator * 2685821657736338717u;
}

uint64_t simulation_random(uint64_t bound) { return bound == 0 ? 0 : (next_number() >> 11) % bound; }

// ---- the trace

static void record(const char *text) {
    events++;
    // FNV-1a, of whole numbers too.
    hash = (hash ^ (uint64_t)now) * 1099511628211u;
    hash = (hash ^ (uint64_t)(current != NULL ? current->number : -1)) * 1099511628211u;
    hash ^= hash >> 32;
    for (const char *c = text; *c != 0; c++) hash = (hash ^ (uint8_t)*c) * 1099511628211u;
    kernel_record(current != NULL ? current->number : -1, text);
    if (options.traces) {
        char line[400];
        char name[32];
        if (options.has_processes) snprintf(name, sizeof name, "%d %s", kernel_process(), current ? current->name : "-");
        else snprintf(name, sizeof name, "%s", current ? current->name : "-");
        int length = snprintf(line, sizeof line, "%12.6f  %-15s  %s\n", (double)now / 1e9, name, text);
        if (length > (int)sizeof line - 1) length = sizeof line - 1;
        ssize_t ignored = REAL(write)(2, line, (size_t)length);
        (void)ignored;
    }
}

void kernel_note(const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    record(text);
}

void simulation_note(const char *text) { record(text); }
uint64_t simulation_events(void) { return events; }
uint64_t simulation_hash(void) { return hash; }

// ---- when it goes wrong

static void show_stack(void) {
    void *frames[48];
    backtrace_symbols_fd(frames, backtrace(frames, 48), 2);
}

// For a thread that goes on only for this.
static void show_stack_if_asked(struct thread *thread) {
    while (thread->asked_by != NULL) {
        show_stack();
        struct thread *asked_by = thread->asked_by;
        thread->asked_by = NULL;
        context_switch(&thread->context, &asked_by->context);
    }
}

static void show_threads(void) {
    for (int i = 0; i < thread_count; i++) {
        struct thread *thread = threads[i];
        if (thread->state == thread_ended || thread->state == thread_stopped) continue;
        dprintf(2, "\nthread %d, %s: %s %s\n", thread->number, thread->name,
            thread->state == thread_waits ? "waits:" : "can run", thread->state == thread_waits ? thread->reason : "");
        if (thread == current) {
            show_stack();
        } else if (thread->process == kernel_process()) {
            thread->asked_by = current;
            context_switch(&current->context, &thread->context);
        }
    }
}

void kernel_fail(int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    dprintf(2, "simulation, seed %llu, at %.6f s: ", (unsigned long long)options.seed, (double)now / 1e9);
    vdprintf(2, format, arguments);
    dprintf(2, "\n");
    va_end(arguments);
    show_threads();
    kernel_end_world(status);
}

// ---- the choice of the next thread

bool kernel_is_simulated(void) { return has_begun && current != NULL; }
int kernel_process(void) { return current != NULL ? current->process : 0; }
simulation_time simulation_now(void) { return now; }
struct thread *kernel_thread(pthread_t handle) {
    for (int i = thread_count - 1; i >= 0; i--) {
        struct thread *thread = threads[i];
        if (thread->has_handle && thread->process == kernel_process() && pthread_equal(thread->handle, handle)) return thread;
    }
    return NULL;
}

// What is asked at each call: the threads that can run, how many wait at addresses of a kind, and a date before which no wait is over.
enum { bits = 64, kinds_of_addresses = 1024 };
static uint64_t runnable[most_threads / bits];
static int waiting[kinds_of_addresses];
static simulation_time next_date = INT64_MAX;

static int *waiting_at(const void *address) {
    return &waiting[((uintptr_t)address >> 2) * 0x9E3779B97F4A7C15u >> 32 & (kinds_of_addresses - 1)];
}

static void set_state(struct thread *thread, enum thread_state state) {
    if (thread->state == thread_waits) --*waiting_at(thread->address);
    if (state == thread_waits) ++*waiting_at(thread->address);
    uint64_t bit = 1ull << thread->index % bits, *word = &runnable[thread->index / bits];
    *word = state == thread_runs ? *word | bit : *word & ~bit;
    thread->state = state;
}

static void end_waits(void) {
    next_date = INT64_MAX;
    for (int i = 0; i < thread_count; i++) {
        struct thread *thread = threads[i];
        if (thread->state != thread_waits || thread->until < 0) continue;
        if (thread->until <= now) {
            set_state(thread, thread_runs);
            thread->was_woken = false;
        } else if (thread->until < next_date) {
            next_date = thread->until;
        }
    }
}

static uint64_t count_runnable(void) {
    uint64_t count = 0;
    for (int i = 0; i < most_threads / bits; i++) count += (uint64_t)__builtin_popcountll(runnable[i]);
    return count;
}

static struct thread *runnable_thread(uint64_t place) {
    int word = 0;
    for (uint64_t count; (count = (uint64_t)__builtin_popcountll(runnable[word])) <= place; word++) place -= count;
    uint64_t rest = runnable[word];
    while (place-- > 0) rest &= rest - 1;
    return threads[word * bits + __builtin_ctzll(rest)];
}

// The next thread, which may be the caller.
static struct thread *choose(void) {
    for (;;) {
        if (next_date <= now) end_waits();
        uint64_t count = count_runnable();
        if (count > 0) return runnable_thread(simulation_random(count));
        // One that was the next may have been woken before.
        end_waits();
        if (next_date == INT64_MAX) kernel_fail(simulation_deadlock, "every thread waits, and nothing will wake one");
        if (next_date > options.limit)
            kernel_fail(simulation_timeout, "nothing happens before the limit of %.0f s", (double)options.limit / 1e9);
        now = next_date;
        calls_since_wait = 0;
    }
}

static void hand_over(void) {
    struct thread *self = current, *next = choose();
    if (next == self) return;
    struct turn *turn = &turns[self->process];
    turn->next = next;
    context_switch(&self->context, next->process == self->process ? &next->context : &turn->between);
    show_stack_if_asked(self);
}

void kernel_step(const char *call) {
    (void)call;
    now += cost_of_a_call;
    if (now > options.limit) kernel_fail(simulation_timeout, "the world goes on after its limit of %.0f s", (double)options.limit / 1e9);
    if (++calls_since_wait > most_calls_without_waiting) kernel_fail(simulation_stuck, "threads run and nothing happens");
    if (atomic_depth > 0) return;
    kernel_count_call();
    if (simulation_random(256) < options.preemption) hand_over();
}

bool kernel_wait(const void *address, simulation_time until, const char *reason) {
    if (atomic_depth > 0 && until < 0) kernel_fail(simulation_stuck, "a wait in a section that is not interrupted: %s", reason);
    current->address = address;
    current->until = until;
    current->reason = reason;
    current->was_woken = true;
    set_state(current, thread_waits);
    if (until >= 0 && until < next_date) next_date = until;
    hand_over();
    return current->was_woken;
}

int kernel_wake(const void *address, int most) { return kernel_wake_process(address, most, -1); }

int kernel_wake_process(const void *address, int most, int process) {
    if (*waiting_at(address) == 0) return 0;
    struct thread *found[most_threads];
    int count = 0, woken = 0;
    for (int i = 0; i < thread_count; i++) {
        if (threads[i]->state != thread_waits || threads[i]->address != address) continue;
        if (process >= 0 && threads[i]->process != process) continue;
        // Other processes have something else at the address.
        if (process >= 0 || threads[i]->process == kernel_process() || kernel_is_shared(address)) found[count++] = threads[i];
    }
    while (count > 0 && woken < most) {
        int chosen = (int)simulation_random((uint64_t)count);
        set_state(found[chosen], thread_runs);
        found[chosen] = found[--count];
        woken++;
    }
    return woken;
}

void kernel_begin_atomic(void) { atomic_depth++; }
void kernel_end_atomic(void) { atomic_depth--; }
bool kernel_may_hand_over(void) { return atomic_depth == 0; }

// ---- beginning and end of a thread

static pthread_key_t end_key;

// Destructors of other keys may call into the kernel, so the thread leaves in the last round of them.
static void end_of_thread(void *value) {
    struct thread *thread = value;
    if (++thread->rounds_of_destructors < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(end_key, thread);
        return;
    }
    set_state(thread, thread_ended);
    // The C library may give the handle to another thread.
    if (!thread->is_joinable) thread->has_handle = false;
    kernel_wake(thread, most_threads);
    kernel_note("ends");
    struct turn *turn = &turns[thread->process];
    turn->next = choose();
    turn->leaving = thread;
    current = NULL;
    context_switch(&thread->context, &turn->between);
}

static struct thread *add_thread(const char *name) {
    // Records of threads that have ended and were joined, or cannot be, are used again.
    struct thread *thread = NULL;
    for (int i = 0; i < thread_count && thread == NULL; i++) {
        if (threads[i]->state == thread_ended && !threads[i]->is_joinable) thread = threads[i];
    }
    if (thread == NULL) {
        if (thread_count == most_threads) kernel_fail(simulation_stuck, "more than %d threads", most_threads);
        thread = threads[thread_count] = calloc(1, sizeof *thread);
        thread->index = thread_count++;
    }
    static int numbers;
    *thread = (struct thread){
        .index = thread->index, .number = numbers++, .process = kernel_process(), .state = thread_ended,
    };
    set_state(thread, thread_runs);
    strncpy(thread->name, name, sizeof thread->name - 1);
    return thread;
}

static void *run_thread(void *value) {
    struct thread *thread = value;
    current = thread;
    thread->real = (pid_t)REAL(syscall)(SYS_gettid);
    // Those of the process are for the real thread that runs the simulated ones.
    sigset_t all;
    sigfillset(&all);
    REAL(pthread_sigmask)(SIG_SETMASK, &all, NULL);
    context_leave(&thread->context, &thread->is_left, &thread->may_return);
    show_stack_if_asked(thread);
    pthread_setspecific(end_key, thread);
    return thread->start(thread->argument);
}

int kernel_start_thread(pthread_t *handle, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    struct thread *thread = add_thread("new");
    thread->start = start;
    thread->argument = argument;
    int detached = PTHREAD_CREATE_JOINABLE;
    if (attributes != NULL) pthread_attr_getdetachstate(attributes, &detached);
    thread->is_joinable = detached == PTHREAD_CREATE_JOINABLE;
    int failure = REAL(pthread_create)(handle, attributes, run_thread, thread);
    if (failure != 0) {
        set_state(thread, thread_ended);
        thread->is_joinable = false;
        return failure;
    }
    thread->handle = *handle;
    thread->has_handle = true;
    while (__atomic_load_n(&thread->is_left, __ATOMIC_ACQUIRE) == 0) real_futex(&thread->is_left, FUTEX_WAIT_PRIVATE, 0);
    kernel_note("starts thread %d", thread->number);
    kernel_step("pthread_create");
    return 0;
}

static pid_t number_of(const struct thread *thread) { return thread->is_first ? getpid() : 10000 + thread->number; }

pid_t kernel_thread_number(void) { return number_of(current); }

struct thread *kernel_thread_numbered(pid_t number) {
    for (int i = 0; i < thread_count; i++) {
        struct thread *thread = threads[i];
        if (thread->process == kernel_process() && thread->state != thread_ended && number_of(thread) == number) return thread;
    }
    return NULL;
}

void kernel_name_current(const char *name) {
    strncpy(current->name, name, sizeof current->name - 1);
}

// ---- processes

// The calling thread of the real kernel is that of the first thread of a process.
static void take_over(struct thread *first) {
    first->handle = pthread_self();
    first->has_handle = first->is_first = true;
    first->real = (pid_t)REAL(syscall)(SYS_gettid);
    begin_turns();
}

struct thread *kernel_add_first_thread(int process, const char *name) {
    // It may have its turn before its real process waits for it.
    turns[process] = (struct turn){ .stack = turns[process].stack };
    struct thread *thread = add_thread(name);
    thread->process = process;
    return thread;
}

void kernel_become(struct thread *thread) {
    current = thread;
    if (thread == NULL) return;
    take_over(thread);
    wait_for_turn(&turns[thread->process]);
}

void kernel_stop_threads(int process) {
    for (int i = 0; i < thread_count; i++) {
        if (threads[i]->process == process && threads[i]->state != thread_ended) set_state(threads[i], thread_stopped);
    }
    if (current->state != thread_stopped) return;
    // It is never the next one again.
    atomic_depth = 0;
    hand_over();
}

void kernel_forget_threads(int process) {
    for (int i = 0; i < thread_count; i++) {
        if (threads[i]->process != process) continue;
        set_state(threads[i], thread_ended);
        threads[i]->is_joinable = threads[i]->has_handle = false;
    }
}

void simulation_begin(simulation_options wanted) {
    if (wanted.has_processes) kernel_share_memory();
    options = wanted;
    generator = wanted.seed * 0x9E3779B97F4A7C15u + wanted.order * 0xD1B54A32D192ED03u + 0x1234567;
    if (generator == 0) generator = 1;
    for (int i = 0; i < 8; i++) next_number();
    now = 1000000000;
    if (wanted.before.clock > 0) {
        now = wanted.before.clock;
        events = wanted.before.events;
        hash = wanted.before.hash;
    }
    pthread_key_create(&end_key, end_of_thread);
    // backtrace loads a library when it is first called.
    void *frame[1];
    backtrace(frame, 1);
    current = add_thread("main");
    take_over(current);
    has_begun = true;
    kernel_begin_events();
}
