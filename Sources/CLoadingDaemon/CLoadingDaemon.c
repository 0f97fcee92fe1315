#define _GNU_SOURCE

#include "CLoadingDaemon.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LISTENER = 3 };

int cld_listen(const void *address, socklen_t length) {
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0) return -1;
    // On Linux the file gets the mode of the socket.
    if (fchmod(listener, 0600) == 0 && bind(listener, address, length) == 0) {
        if (listen(listener, SOMAXCONN) == 0) return listener;
        int code = errno;
        unlink(((const struct sockaddr_un *)address)->sun_path);
        errno = code;
    }
    int code = errno;
    close(listener);
    errno = code;
    return -1;
}

// ---- Between vfork and exec: the memory is the caller's, whose threads go on, except for the one that waits. So there is nothing here but
// ---- system calls.

struct start {
    const char *program;
    char *const *arguments;
    char *const *environment;
    const void *address;
    socklen_t length;
    volatile int failure;
};

struct entry { uint64_t inode; int64_t offset; unsigned short length; unsigned char type; char name[]; };

// Kernels before 5.9 have no close_range.
static void close_others_one_by_one(void) {
    _Alignas(struct entry) char entries[4096];
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    for (;;) {
        long count = syscall(SYS_getdents64, folder, entries, sizeof entries);
        if (count <= 0) break;
        for (long place = 0; place < count; place += ((struct entry *)(entries + place))->length) {
            const char *name = ((struct entry *)(entries + place))->name;
            int number = 0;
            while (*name >= '0' && *name <= '9') number = number * 10 + (*name++ - '0');
            // Closing would change the folder while it is read.
            if (number > LISTENER) fcntl(number, F_SETFD, FD_CLOEXEC);
        }
    }
    close(folder);
}

static int arrange_descriptors(int listener) {
    // Above the numbers that are assigned below. The process may have been started without any of them.
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return -1;
    null = fcntl(null, F_DUPFD_CLOEXEC, LISTENER + 1);
    listener = fcntl(listener, F_DUPFD_CLOEXEC, LISTENER + 1);
    if (null < 0 || listener < 0) return -1;
    for (int number = 0; number < LISTENER; number++)
        if (dup2(null, number) < 0) return -1;
    if (dup2(listener, LISTENER) < 0) return -1;
    if (syscall(SYS_close_range, LISTENER + 1, ~0U, 0) != 0) close_others_one_by_one();
    return 0;
}

static _Noreturn void become_service(struct start *start) {
    struct sigaction initial = { .sa_handler = SIG_DFL };
    for (int number = 1; number < NSIG; number++) sigaction(number, &initial, NULL);
    int listener = cld_listen(start->address, start->length);
    if (listener < 0) {
        start->failure = errno;
        _exit(1);
    }
    umask(077);
    sigset_t none;
    sigemptyset(&none);
    if (chdir("/") == 0 && arrange_descriptors(listener) == 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0)
        execve(start->program, start->arguments, start->environment);
    start->failure = errno;
    unlink(((const struct sockaddr_un *)start->address)->sun_path);
    _exit(1);
}

// Ends at once, so that the service is adopted by init, and the caller has no child that it does not know of.
static _Noreturn void become_parent(struct start *start) {
    setsid();
    pid_t service = vfork();
    if (service == 0) become_service(start);
    if (service < 0) start->failure = errno;
    _exit(start->failure);
}

// ---- In the caller

int cld_start_service(
    const char *program, char *const arguments[], char *const environment[], const void *address, socklen_t length) {
    struct start start = { program, arguments, environment, address, length, 0 };
    sigset_t all, before;
    sigfillset(&all);
    // A handler would run in the child with the caller's memory.
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = vfork();
    if (parent == 0) become_parent(&start);
    int code = parent < 0 ? errno : 0;
    if (parent > 0) {
        int status = 0;
        pid_t done;
        do done = waitpid(parent, &status, 0); while (done < 0 && errno == EINTR);
        // Sanitizers make a copy of the memory, so the status counts. It is missing if the program ignores SIGCHLD or waits for all.
        code = done == parent && WIFEXITED(status) ? WEXITSTATUS(status) : start.failure;
        if (done == parent && WIFSIGNALED(status)) code = ECHILD;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

// ---- The executable or library that contains this code

static int contains_this(const struct dl_phdr_info *object) {
    ElfW(Addr) here = (ElfW(Addr))&contains_this;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[index];
        ElfW(Addr) first = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && here >= first && here < first + part->p_memsz) return 1;
    }
    return 0;
}

// The first object is the executable.
static int look_at_executable(struct dl_phdr_info *object, size_t size, void *result) {
    (void)size;
    *(int *)result = contains_this(object);
    return 1;
}

const char *cld_library(void) {
    int is_executable = 0;
    dl_iterate_phdr(look_at_executable, &is_executable);
    Dl_info found;
    if (is_executable || dladdr((const void *)&contains_this, &found) == 0) return NULL;
    return found.dli_fname;
}

typedef void (*initializer)(int, char **, char **);

struct initializers {
    const initializer *first;
    size_t size;
};

static int find_initializers(struct dl_phdr_info *object, size_t size, void *result) {
    (void)size;
    if (!contains_this(object)) return 0;
    struct initializers *found = result;
    for (int index = 0; index < object->dlpi_phnum; index++) {
        if (object->dlpi_phdr[index].p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[index].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            if (entry->d_tag == DT_INIT_ARRAY) found->first = (const initializer *)(object->dlpi_addr + entry->d_un.d_ptr);
            if (entry->d_tag == DT_INIT_ARRAYSZ) found->size = entry->d_un.d_val;
        }
    }
    return 1;
}

// ---- Before main

// In Swift. Never returns. Absent in programs that contain only a part of the library.
extern void loading_run_background_service(int listener) __attribute__((weak));

int cld_can_serve(void) { return loading_run_background_service != NULL && getauxval(AT_SECURE) == 0; }

char **cld_environment(void) { return environ; }

static int is_listener(int descriptor) {
    int answer = 0;
    socklen_t length = sizeof answer;
    return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &answer, &length) == 0 && answer != 0;
}

static void run_service(int count, char **arguments, char **environment);

// Those of the same object that come after this one: in a program that contains Swift's runtime and libdispatch, they belong to these.
static void run_later_initializers(int count, char **arguments, char **environment) {
    struct initializers found = { NULL, 0 };
    dl_iterate_phdr(find_initializers, &found);
    int is_later = 0;
    for (size_t index = 0; found.first != NULL && index < found.size / sizeof(initializer); index++) {
        if (is_later) found.first[index](count, arguments, environment);
        if (found.first[index] == run_service) is_later = 1;
    }
}

__attribute__((constructor)) static void run_service(int count, char **arguments, char **environment) {
    const char *number = secure_getenv(CLD_SOCKET_VARIABLE);
    if (number == NULL || loading_run_background_service == NULL) return;
    int listener = 0;
    while (*number >= '0' && *number <= '9' && listener < 1 << 20) listener = listener * 10 + (*number++ - '0');
    int is_number = *number == 0;
    // Programs that the service launches are no services.
    unsetenv(CLD_SOCKET_VARIABLE);
    unsetenv("LD_PRELOAD");
    if (!is_number || !is_listener(listener)) return;
    run_later_initializers(count, arguments, environment);
    loading_run_background_service(listener);
    _exit(70);
}
