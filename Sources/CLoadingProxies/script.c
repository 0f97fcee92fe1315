#define _GNU_SOURCE
#include "CLoadingProxies.h"

#include "arena.h"
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// A script comes from a network, and may run for ever, want all memory, or know a way out of its engine. So it runs in a
// process that is a copy of this one, made silently (no handlers of `fork`, no SIGCHLD), that has closed
// all files, shares no memory, has a bounded one of its own, and may then call nothing of the kernel's but read, write, the
// clock and the end. From the copy on nothing may be called that takes a lock or allocates: a thread that is not there may
// have the lock.

enum {
    MEMORY = 64 << 20,
    // The processor's time.
    SECONDS = 3,
    ANSWER = 64 << 10,
    QUESTION = 1024,
    CHANNEL = 0,
};

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

// ---- within the process of the script; it makes system calls directly, because wrappers of libc may be replaced

extern char **environ;

static void send_text(char kind, const char *bytes, size_t count) {
    char message[1 + ANSWER];
    message[0] = kind;
    memcpy(message + 1, bytes, count);
    if (syscall(SYS_write, CHANNEL, message, 1 + count) < 0) syscall(SYS_exit_group, 1);
}

// Set there alone.
static const clx_engine *library;

// `ask(kind, text)`: a query to the parent process, which has the files. Returns a text or null.
static int ask(clx_script *script) {
    size_t kind_count = 0, count = 0;
    const char *kind = library->get_text(script, 0, &kind_count);
    const char *text = library->get_text(script, 1, &count);
    if (kind == NULL || kind_count != 1 || text == NULL || count > QUESTION) {
        library->push_null(script);
        return 1;
    }
    send_text(kind[0], text, count);
    char answer[QUESTION];
    long got = syscall(SYS_read, CHANNEL, answer, sizeof answer);
    if (got < 0) syscall(SYS_exit_group, 1);
    if (got <= 1) library->push_null(script); else library->push_text(script, answer + 1, (size_t)got - 1);
    return 1;
}

static void give_up(void *context, const char *reason) {
    (void)context;
    (void)reason;
    syscall(SYS_exit_group, 1);
    for (;;) {}
}

static bool evaluate(clx_script *script, clx_text text) {
    bool is_good = library->evaluate(script, text.bytes, text.count, CLX_EVALUATE) == 0;
    library->pop(script);
    return is_good;
}

static void run(clx_arena *arena, clx_text functions, clx_text source, clx_text url, clx_text host) {
    clx_script *script =
        library->create(clx_arena_allocate, clx_arena_reallocate, clx_arena_free, arena, give_up);
    if (script == NULL) return;
    library->push_function(script, ask, 2);
    library->put_global(script, "ask");
    if (!evaluate(script, functions) || !evaluate(script, source)) return send_text(CLX_FAILED, "", 0);
    library->get_global(script, "FindProxyForURL");
    library->push_text(script, url.bytes, url.count);
    library->push_text(script, host.bytes, host.count);
    if (library->call(script, 2) != 0) return send_text(CLX_FAILED, "", 0);
    size_t count = 0;
    const char *answer = library->get_text(script, -1, &count);
    if (answer == NULL || count > ANSWER) return send_text(CLX_FAILED, "", 0);
    send_text(CLX_ANSWER, answer, count);
}

static bool shut_in(void) {
#ifdef ARCHITECTURE
#define ALLOW(number)                                             \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(number), 0, 1), \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_read),
        ALLOW(SYS_write),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_clock_gettime),
        ALLOW(SYS_gettimeofday),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof instructions / sizeof *instructions, instructions};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
    return false;
#endif
}

static void limit(int resource, rlim_t most) {
    struct rlimit value = {most, most};
    setrlimit(resource, &value);
}

static void close_all_but(int descriptor) {
    if (descriptor != CHANNEL) syscall(SYS_dup3, descriptor, CHANNEL, 0);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, CHANNEL + 1, ~0U, 0) == 0) return;
#endif
    struct rlimit files = {0, 0};
    getrlimit(RLIMIT_NOFILE, &files);
    int last = files.rlim_cur < (1 << 20) ? (int)files.rlim_cur : 1 << 20;
    for (int other = CHANNEL + 1; other < last; other++) syscall(SYS_close, other);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

// What this process shares with others, the files that are mapped by a database among it, it shares no more. A page of such a
// mapping would be written for all.
static bool unmap_shared(void) {
#ifdef IS_SANITIZED
    // A sanitizer looks at each access by tables of its own, some of which are mapped so.
    return true;
#else
    int maps = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY);
    if (maps < 0) return false;
    char bytes[4096];
    long got;
    // A line begins with "from-to perm ", in hexadecimal; the fourth of the permissions is p or s.
    size_t values[2] = {0, 0}, field = 0, place = 0;
    bool is_good = true;
    while ((got = syscall(SYS_read, maps, bytes, sizeof bytes)) > 0) {
        for (long index = 0; index < got; index++) {
            char octet = bytes[index];
            if (octet == '\n') {
                values[0] = values[1] = field = place = 0;
            } else if (field < 2) {
                if (octet == '-' || octet == ' ') field++;
                else values[field] = values[field] << 4 | (size_t)(octet <= '9' ? octet - '0' : octet - 'a' + 10);
            } else if (++place == 4 && octet == 's') {
                is_good &= syscall(SYS_munmap, values[0], values[1] - values[0]) == 0;
            }
        }
    }
    syscall(SYS_close, maps);
    return is_good && got == 0;
#endif
}

// `zone` is the value of TZ, so that the files are not read again.
static _Noreturn void live(
    const clx_engine *engine, int descriptor, char *zone, clx_text functions, clx_text source, clx_text url,
    clx_text host) {
    library = engine;
    // The handlers of this process would run there.
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) sigaction(number, &standard, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    close_all_but(descriptor);
    // Ends with the thread that waits for it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_DUMPABLE, 0);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, SECONDS);
    char *variables[] = {zone, NULL};
    environ = variables;
    void *memory = (void *)syscall(
        SYS_mmap, NULL, (size_t)MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
    if (memory != MAP_FAILED && unmap_shared() && shut_in()) {
        clx_arena arena;
        clx_arena_begin(&arena, memory, MEMORY);
        run(&arena, functions, source, url, host);
    }
    for (;;) syscall(SYS_exit_group, 0);
}

// ---- in the calling process

bool clx_has_engine(void) {
#ifdef ARCHITECTURE
    return clx_engine_find() != NULL;
#else
    return false;
#endif
}

bool clx_begin(clx_text functions, clx_text script, clx_text url, clx_text host, clx_run *run) {
    const clx_engine *engine = clx_engine_find();
    if (engine == NULL) return false;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
    tzset();
    char zone[256];
    const char *named = getenv("TZ");
    int length = snprintf(zone, sizeof zone, "TZ=%s", named != NULL ? named : ":/etc/localtime");
    if (length < 0 || (size_t)length >= sizeof zone) strcpy(zone, "TZ=:/etc/localtime");
    // Until it has handlers of its own, none of ours may run there.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    // It sends no SIGCHLD, so a `wait` of the program does not return it.
    long process = syscall(SYS_clone, 0UL, NULL, NULL, NULL, 0UL);
    if (process == 0) live(engine, ends[1], zone, functions, script, url, host);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (process < 0) {
        close(ends[0]);
        return false;
    }
    run->process = (int32_t)process;
    run->descriptor = ends[0];
    return true;
}

clx_kind clx_next(const clx_run *run, int milliseconds, char *bytes, size_t capacity, size_t *count) {
    *count = 0;
    struct pollfd ready = {.fd = run->descriptor, .events = POLLIN};
    // A signal may cut it short; so it is waited for again, no longer than twice.
    int found = poll(&ready, 1, milliseconds);
    if (found < 0 && errno == EINTR) found = poll(&ready, 1, milliseconds);
    if (found <= 0) return CLX_TIMED_OUT;
    char kind = 0;
    struct iovec parts[] = {{&kind, 1}, {bytes, capacity}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t got = recvmsg(run->descriptor, &message, MSG_DONTWAIT);
    if (got < 1) return CLX_TIMED_OUT;
    *count = (size_t)got - 1;
    switch (kind) {
    case CLX_ANSWER: return CLX_ANSWER;
    case CLX_RESOLVE: return CLX_RESOLVE;
    case CLX_OWN: return CLX_OWN;
    default: return CLX_FAILED;
    }
}

void clx_tell(const clx_run *run, clx_text text) {
    // A text of no bytes would be no message.
    char kind = CLX_ANSWER;
    struct iovec parts[] = {{&kind, 1}, {(void *)text.bytes, text.count < QUESTION - 1 ? text.count : 0}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    // If it is gone, that shows next.
    (void)sendmsg(run->descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void clx_end(clx_run *run) {
    close(run->descriptor);
    kill(run->process, SIGKILL);
    while (waitpid(run->process, NULL, __WALL) < 0 && errno == EINTR) {}
}
