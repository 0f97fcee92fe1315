#define _GNU_SOURCE
#include "CLoadingLinux.h"

#include <linux/fs.h>
#include <arpa/nameser.h>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <resolv.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

_Bool cll_was_forked = 0;

static void (*before_fork)(void);
static void (*after_fork)(_Bool is_child);

static void forked_in_parent(void) { after_fork(0); }

static void forked_in_child(void) {
    __atomic_store_n(&cll_was_forked, 1, __ATOMIC_RELAXED);
    after_fork(1);
}

static void watch_forks(void) { pthread_atfork(before_fork, forked_in_parent, forked_in_child); }

void cll_watch_forks(void (*before)(void), void (*after)(_Bool is_child)) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    if (!before_fork) {
        before_fork = before;
        after_fork = after;
    }
    pthread_mutex_unlock(&mutex);
    pthread_once(&once, watch_forks);
}

void cll_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int cll_local_addresses_of_subflows(int descriptor, struct sockaddr_storage *addresses, int most) {
    // As in linux/mptcp.h, which older headers have without these.
    typedef struct { struct sockaddr_storage local, remote; } ends;
    struct {
        struct { uint32_t size, count, size_in_kernel, size_of_ends; } __attribute__((aligned(8))) head;
        ends subflows[32];
    } answer = { .head = { .size = sizeof answer.head, .size_of_ends = sizeof(ends) } };
    socklen_t length = sizeof answer;
    if (getsockopt(descriptor, 284 /* SOL_MPTCP */, 3, &answer, &length) != 0) return -1;
    int count = answer.head.count < 32 ? (int)answer.head.count : 32;
    for (int index = 0; index < count && index < most; index++) addresses[index] = answer.subflows[index].local;
    return count;
}

void *cll_map(size_t size) {
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return NULL;
    madvise(pages, size, MADV_HUGEPAGE);
    return pages;
}

void *cll_remap(void *pages, size_t size, size_t new_size) {
    void *moved = mremap(pages, size, new_size, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) return NULL;
    if (new_size > size) madvise(moved, new_size, MADV_HUGEPAGE);
    return moved;
}

ssize_t cll_splice(int from, int to, size_t count) {
    ssize_t done;
    do done = splice(from, NULL, to, NULL, count, SPLICE_F_MOVE | SPLICE_F_NONBLOCK); while (done < 0 && errno == EINTR);
    return done;
}

ssize_t cll_splice_file(int file, int64_t offset, int pipe, size_t count) {
    ssize_t done;
    do {
        loff_t place = offset;
        done = splice(file, &place, pipe, NULL, count, SPLICE_F_MOVE);
    } while (done < 0 && errno == EINTR);
    return done;
}

void cll_block_file_size_signal(void) {
    sigset_t alone;
    sigemptyset(&alone);
    sigaddset(&alone, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &alone, NULL);
}

// Neither splice nor write has MSG_NOSIGNAL. The signal goes to the thread that made the call, so it is held back for the
// call and taken away after it, unless one was on its way before.
typedef struct {
    sigset_t broken, before, pending;
} held_signal;

static void hold_signal(held_signal *held) {
    sigemptyset(&held->broken);
    sigaddset(&held->broken, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &held->broken, &held->before);
    sigpending(&held->pending);
}

static void release_signal(held_signal *held, int has_come) {
    int code = errno;
    if (has_come && !sigismember(&held->pending, SIGPIPE)) {
        struct timespec now = { 0 };
        while (sigtimedwait(&held->broken, NULL, &now) < 0 && errno == EINTR) {}
    }
    pthread_sigmask(SIG_SETMASK, &held->before, NULL);
    errno = code;
}

ssize_t cll_splice_to_socket(int pipe, int socket, size_t count) {
    held_signal held;
    hold_signal(&held);
    ssize_t done = cll_splice(pipe, socket, count);
    // Also when some of it went before the peer was found gone.
    release_signal(&held, done < (ssize_t)count);
    return done;
}

void cll_write_message(int descriptor, const void *bytes, size_t count) {
    held_signal held;
    hold_signal(&held);
    ssize_t done;
    do done = write(descriptor, bytes, count); while (done < 0 && errno == EINTR);
    release_signal(&held, done < (ssize_t)count);
}

bool cll_write_line(int descriptor, const void *bytes, size_t count, int milliseconds) {
    struct pollfd room = { .fd = descriptor, .events = POLLOUT };
    int found = -1;
    // A signal begins the time anew, but not for ever.
    for (int tries = 0; found < 0 && tries < 3; tries++) {
        found = poll(&room, 1, milliseconds);
        if (found < 0 && errno != EINTR) return true;
    }
    if (found <= 0) return false;
    if (room.revents & POLLNVAL) return true;
    cll_write_message(descriptor, bytes, count);
    return true;
}

const char *cll_environment(const char *name) { return secure_getenv(name); }

int cll_pipe(int *exit, int *entrance) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    *exit = ends[0];
    *entrance = ends[1];
    return 0;
}

int cll_set_pipe_capacity(int pipe, int bytes) { return fcntl(pipe, F_SETPIPE_SZ, bytes); }

int64_t cll_outgoing(int descriptor) {
    int count = 0;
    return ioctl(descriptor, TIOCOUTQ, &count) == 0 && count >= 0 ? count : -1;
}
int cll_clone_file(int to, int from) { return ioctl(to, FICLONE, from); }

ssize_t cll_copy_range(int from, int to, size_t count) { return copy_file_range(from, NULL, to, NULL, count, 0); }

int cll_exchange_files(const char *one, const char *other) {
    return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

int cll_mark_in_use(int descriptor) {
    struct flock all = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
    return fcntl(descriptor, F_OFD_SETLK, &all);
}

int cll_is_in_use(int descriptor) {
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (fcntl(descriptor, F_OFD_GETLK, &all) != 0) return -1;
    return all.l_type != F_UNLCK;
}

int cll_make_file(char *path, int suffix_length) { return mkostemps(path, suffix_length, O_CLOEXEC); }

int cll_open_place(const char *path) { return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC); }

int cll_set_mode_of_place(int place, mode_t mode) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", place);
    return chmod(path, mode);
}

static int query(res_state state, const char *name, int class, int type, unsigned char *answer, int capacity) {
#if __GLIBC_PREREQ(2, 34)
    return res_nquery(state, name, class, type, answer, capacity);
#else
    // The resolver is a library of its own, which is loaded with the first question so that programs start without it.
    void *library = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);
    __typeof__(res_nquery) *function = library == NULL ? NULL : (__typeof__(res_nquery) *)dlsym(library, "__res_nquery");
    state->res_h_errno = NO_RECOVERY;
    return function == NULL ? -1 : function(state, name, class, type, answer, capacity);
#endif
}

int cll_ask_name_servers(const char *name, int type, uint8_t *answer, int capacity, int seconds, int tries) {
    // Of this call alone, since others may be asking at the same time.
    struct __res_state state;
    memset(&state, 0, sizeof state);
    if (res_ninit(&state) != 0) return -CLL_NO_ANSWER;
    if (state.retrans > seconds) state.retrans = seconds;
    if (state.retry > tries) state.retry = tries;
    int length = query(&state, name, C_IN, type, answer, capacity);
    int error = state.res_h_errno;
    res_nclose(&state);
    if (length >= 0) return length;
    return error == HOST_NOT_FOUND ? -CLL_NO_SUCH_NAME : error == NO_DATA ? -CLL_NO_SUCH_DATA : -CLL_NO_ANSWER;
}

int cll_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

// ---- programs

extern char **environ;

static bool has_name(const char *variable, const char *name, size_t length) {
    return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

// Whether a launched program gets the variable of the service: not the descriptors and the readiness socket of systemd, and not
// what makes a process the service.
static bool is_inherited(const char *variable) {
    static const char *const others[] = {
        "URLSESSIOND_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC",
    };
    for (size_t index = 0; index < sizeof others / sizeof *others; index++)
        if (has_name(variable, others[index], strlen(others[index]))) return false;
    return true;
}

static char **environment_with(const char *variable) {
    size_t count = 0, length = strcspn(variable, "="), last = 0;
    while (environ[count] != NULL) count++;
    char **result = malloc((count + 2) * sizeof *result);
    if (result == NULL) return NULL;
    for (size_t index = 0; index < count; index++)
        if (is_inherited(environ[index]) && !has_name(environ[index], variable, length)) result[last++] = environ[index];
    result[last++] = (char *)variable;
    result[last] = NULL;
    return result;
}

static int arrange_launch(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int code = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDWR, 0);
    if (code == 0) code = posix_spawn_file_actions_adddup2(actions, 0, 1);
    if (code == 0) code = posix_spawn_file_actions_adddup2(actions, 0, 2);
#if defined __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 34)
    // Older ones rely on the flag that every descriptor of this library has.
    if (code == 0) code = posix_spawn_file_actions_addclosefrom_np(actions, 3);
#endif
#endif
    if (code == 0) code = posix_spawnattr_setsigmask(attributes, &none);
    if (code == 0) code = posix_spawnattr_setsigdefault(attributes, &all);
    short flags = POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    return code != 0 ? code : posix_spawnattr_setflags(attributes, flags);
}

pid_t cll_launch(const char *path, char *const arguments[], const char *variable) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char **environment = environment_with(variable);
    if (environment == NULL) return -ENOMEM;
    pid_t child = 0;
    int code = posix_spawn_file_actions_init(&actions);
    if (code == 0) {
        code = posix_spawnattr_init(&attributes);
        if (code == 0) {
            code = arrange_launch(&actions, &attributes);
            if (code == 0) code = posix_spawn(&child, path, &actions, &attributes, arguments, environment);
            posix_spawnattr_destroy(&attributes);
        }
        posix_spawn_file_actions_destroy(&actions);
    }
    free(environment);
    return code == 0 ? child : -code;
}

// Functions of Foundation, which has no other way to end a turn of a run loop. Weak, because not every program that links
// this module links Foundation.
__attribute__((weak)) void *CFRunLoopGetCurrent(void);
__attribute__((weak)) void CFRunLoopStop(void *loop);

void cll_return_from_run_loop(void) {
    if (CFRunLoopGetCurrent != NULL && CFRunLoopStop != NULL) CFRunLoopStop(CFRunLoopGetCurrent());
}

// ---- what the checks of debug builds know of the calling thread

_Thread_local unsigned long cll_thread_levels, cll_thread_loop;
