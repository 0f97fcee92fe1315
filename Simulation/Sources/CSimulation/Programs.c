// Programs in processes of their own: the service of background transfers, and the program whose sessions it serves. Each is forked from a
// process that was forked when the world had begun and runs nothing, and can be killed at any call. Their threads and those of the world
// take turns as usual (Scheduler.c).
#include "Disk.h"
#include "Kernel.h"
#include "Scheduler.h"
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct process {
    // 0 for one that there is not.
    int role;
    bool is_stopped;
    // In the real kernel, and as its program sees it.
    pid_t real, number;
    // Of its end.
    int reason;
    uint64_t signals;
    struct thread *first;
    // NULL for that of the world.
    char **environment;
    size_t variable_count;
};

static struct process processes[most_processes] = { { .number = 100 } };
static bool has_processes;
static pid_t numbers = 101, world;
static int world_status;
static void (*run_program)(void);
static void (*service_begins)(void);
static void (*report_end)(int role, int reason);
// Of the pipes to the process that forks.
static int commands, replies;

bool kernel_has_processes(void) { return has_processes; }

void kernel_exit(int status) {
    for (;;) REAL(syscall)(SYS_exit_group, status);
}

// ---- the end of the world

void kernel_end_world(int status) {
    if (kernel_process() == 0) kernel_exit(status);
    world_status = status;
    REAL(kill)(world, SIGUSR1);
    for (;;) REAL(syscall)(SYS_pause);
}

static void end_with_status(int signal) {
    (void)signal;
    kernel_exit(world_status);
}

// ---- the process that forks

// 0 to start the process, else what to kill.
struct command { pid_t victim; int process; };

extern void loading_run_background_service(int listener);
static const int listener_of_service = 3;

static _Noreturn void run(int number) {
    struct process *process = &processes[number];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_DFL);
    // The number that a service has its socket at.
    int null = REAL(open)("/dev/null", O_RDWR | O_CLOEXEC);
    if (null != listener_of_service) abort();
    if (process->role != simulation_service) REAL(close)(null);
    kernel_become(process->first);
    if (process->environment != NULL) {
        clearenv();
        // What putenv gets stays as long as the process.
        for (size_t i = 0; i < process->variable_count; i++) putenv(process->environment[i]);
    }
    if (process->role == simulation_service) {
        service_begins();
        loading_run_background_service(listener_of_service);
    } else if (process->role == simulation_program) run_program();
    _exit(0);
}

// One that was not killed in the simulation has crashed, or has ended in a way that is not simulated.
static void child_has_ended(int signal) {
    (void)signal;
    siginfo_t found = { 0 };
    if (waitid(P_ALL, 0, &found, WEXITED | WNOHANG | WNOWAIT) != 0 || found.si_pid == 0) return;
    world_status = found.si_code == CLD_EXITED ? found.si_status : 128 + found.si_status;
    if (world_status == 0) world_status = simulation_stuck;
    REAL(kill)(world, SIGUSR1);
}

static _Noreturn void fork_on_command(int own_commands, int own_replies) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    kernel_become(NULL);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGCHLD, child_has_ended);
    struct command command;
    for (;;) {
        ssize_t count = REAL(read)(own_commands, &command, sizeof command);
        if (count < 0 && errno == EINTR) continue;
        if (count != sizeof command) kernel_exit(0);
        pid_t child = 0;
        if (command.victim == 0) {
            child = fork();
            if (child == 0) run(command.process);
        } else {
            sigprocmask(SIG_BLOCK, &children, NULL);
            REAL(kill)(command.victim, SIGKILL);
            while (waitpid(command.victim, NULL, 0) < 0 && errno == EINTR) continue;
            sigprocmask(SIG_UNBLOCK, &children, NULL);
        }
        if (REAL(write)(own_replies, &child, sizeof child) != sizeof child) kernel_exit(0);
    }
}

static pid_t ask(struct command command) {
    pid_t reply = -1;
    if (REAL(write)(commands, &command, sizeof command) == sizeof command) {
        while (REAL(read)(replies, &reply, sizeof reply) < 0 && errno == EINTR) continue;
    }
    if (reply < 0) kernel_fail(simulation_stuck, "no process can be forked");
    return reply;
}

static int at_high_number(int descriptor) {
    int high = REAL(fcntl)(descriptor, F_DUPFD_CLOEXEC, 500);
    REAL(close)(descriptor);
    return high;
}

void simulation_begin_processes(void (*program)(void), void (*service)(void), void (*ended)(int role, int reason)) {
    run_program = program;
    service_begins = service;
    report_end = ended;
    has_processes = true;
    world = (pid_t)REAL(syscall)(SYS_getpid);
    signal(SIGUSR1, end_with_status);
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) kernel_fail(simulation_stuck, "there is no pipe");
    int own_commands = at_high_number(to[0]), own_replies = at_high_number(from[1]);
    commands = at_high_number(to[1]);
    replies = at_high_number(from[0]);
    if (fork() == 0) {
        // Descriptors of the world are not those of its programs.
        REAL(syscall)(SYS_close_range, 3, 499, 0);
        fork_on_command(own_commands, own_replies);
    }
    REAL(close)(own_commands);
    REAL(close)(own_replies);
}

// ---- beginning

static int start(int role, const char *name, char *const environment[], struct file *listener) {
    int number = 1;
    while (number < most_processes && processes[number].role != 0) number++;
    if (number == most_processes) kernel_fail(simulation_stuck, "more than %d processes", most_processes);
    struct process *process = &processes[number];
    *process = (struct process){ .role = role, .number = numbers++ };
    if (environment != NULL) {
        while (environment[process->variable_count] != NULL) process->variable_count++;
        process->environment = calloc(process->variable_count + 1, sizeof *process->environment);
        for (size_t i = 0; i < process->variable_count; i++) process->environment[i] = strdup(environment[i]);
    }
    process->first = kernel_add_first_thread(number, name);
    if (listener != NULL) kernel_place_file(listener, number, listener_of_service);
    kernel_note("process %d begins: %s", process->number, name);
    process->real = ask((struct command){ .process = number });
    return process->number;
}

void simulation_start_program(void) { start(simulation_program, "program", NULL, NULL); }

// What the service was started with last.
static struct { char **environment; size_t count; char path[PATH_MAX]; } last_start;

static void remember(char *const environment[], const char *path) {
    for (size_t i = 0; i < last_start.count; i++) free(last_start.environment[i]);
    free(last_start.environment);
    last_start.count = 0;
    while (environment[last_start.count] != NULL) last_start.count++;
    last_start.environment = calloc(last_start.count + 1, sizeof *last_start.environment);
    for (size_t i = 0; i < last_start.count; i++) last_start.environment[i] = strdup(environment[i]);
    snprintf(last_start.path, sizeof last_start.path, "%s", path);
}

// In the place of the library's, which has vfork and execve.
int __wrap_cld_start_service(
    const char *program, char *const arguments[], char *const environment[], const void *address, socklen_t length) {
    if (!has_processes) return ENOSYS;
    kernel_step("vfork");
    char path[PATH_MAX];
    struct file *listener = kernel_unix_path(address, path) ? kernel_unix_listener(path) : NULL;
    if (listener == NULL) return errno;
    remember(environment, path);
    start(simulation_service, "service", environment, listener);
    return 0;
}

bool simulation_start_service(void) {
    if (last_start.path[0] == 0 || (simulation_running() & simulation_service)) return false;
    unlink(last_start.path);
    struct file *listener = kernel_unix_listener(last_start.path);
    if (listener != NULL) start(simulation_service, "service", last_start.environment, listener);
    return listener != NULL;
}

int posix_spawn(pid_t *restrict process, const char *restrict path, const posix_spawn_file_actions_t *actions,
    const posix_spawnattr_t *restrict attributes, char *const arguments[restrict], char *const environment[restrict]) {
    if (!has_processes || !kernel_is_simulated()) {
        return REAL(posix_spawn)(process, path, actions, attributes, arguments, environment);
    }
    kernel_step("posix_spawn");
    bool is_second = simulation_running() & simulation_program;
    *process = start(is_second ? simulation_second_program : simulation_program, "program", environment, NULL);
    return 0;
}

static struct process *process_numbered(pid_t number) {
    for (int i = 1; i < most_processes; i++) if (processes[i].role != 0 && processes[i].number == number) return &processes[i];
    return NULL;
}

pid_t waitpid(pid_t number, int *status, int options) {
    if (!has_processes || !kernel_is_simulated()) return (pid_t)REAL(syscall)(SYS_wait4, number, status, options, NULL);
    kernel_step("waitpid");
    while (process_numbered(number) != NULL) kernel_wait(processes, FOREVER, "waitpid");
    if (status != NULL) *status = 0;
    return number;
}

int simulation_running(void) {
    int roles = 0;
    for (int i = 1; i < most_processes; i++) roles |= processes[i].role;
    return roles;
}

// ---- the end of processes

// On the thread of events.
static void remove_stopped(void *context) {
    (void)context;
    struct { int role, reason; } ended[most_processes];
    int count = 0;
    bool has_power_failed = false;
    for (int i = 1; i < most_processes; i++) {
        struct process *process = &processes[i];
        if (process->role == 0 || !process->is_stopped) continue;
        ask((struct command){ .victim = process->real });
        kernel_close_all(i);
        kernel_forget_threads(i);
        ended[count].role = process->role;
        ended[count++].reason = process->reason;
        has_power_failed |= process->reason == simulation_power_failed;
        for (size_t k = 0; k < process->variable_count; k++) free(process->environment[k]);
        free(process->environment);
        *process = (struct process){ 0 };
    }
    if (has_power_failed) disk_image_lose();
    kernel_wake(processes, most_processes);
    for (int i = 0; i < count; i++) report_end(ended[i].role, ended[i].reason);
}

static void stop(int roles, int only, int reason) {
    bool stops_caller = false;
    for (int i = 1; i < most_processes; i++) {
        if ((processes[i].role & roles) == 0 || (only != 0 && i != only) || processes[i].is_stopped) continue;
        processes[i].is_stopped = true;
        processes[i].reason = reason;
        stops_caller |= i == kernel_process();
        if (i != kernel_process()) kernel_stop_threads(i);
    }
    kernel_at(simulation_now(), remove_stopped, NULL);
    if (stops_caller) kernel_stop_threads(kernel_process());
}

void simulation_kill(int roles) {
    kernel_note("processes are killed: %d", roles);
    stop(roles, 0, simulation_was_killed);
}

static struct { int roles; uint64_t calls; } next_kill;

void simulation_kill_after(int roles, uint64_t calls) {
    next_kill.roles = roles;
    next_kill.calls = calls;
}

void kernel_count_call(void) {
    if (next_kill.calls == 0 || (processes[kernel_process()].role & next_kill.roles) == 0) return;
    if (--next_kill.calls == 0) simulation_kill(next_kill.roles);
}

static void cut_power_later(void *context) {
    (void)context;
    simulation_cut_power();
}

void kernel_cut_power_of_processes(void) {
    // What the world itself does to the disk is done.
    if (kernel_process() == 0) kernel_at(simulation_now(), cut_power_later, NULL);
    else simulation_cut_power();
}

void simulation_cut_power(void) {
    kernel_note("the power fails");
    // Also if nothing runs, the disk loses what it has.
    if (simulation_running() == 0) disk_image_lose();
    stop(simulation_program | simulation_service | simulation_second_program, 0, simulation_power_failed);
}

void _exit(int status) {
    if (!kernel_is_simulated() || kernel_process() == 0) kernel_exit(status);
    struct process *process = &processes[kernel_process()];
    kernel_note("process %d ends: status %d", process->number, status);
    // EX_TEMPFAIL is that of a service beside which another one runs.
    if (status != 0 && status != 75) kernel_end_world(status);
    stop(process->role, kernel_process(), status);
    kernel_exit(status);
}

// ---- signals, and what a program sees of processes

pid_t getpid(void) {
    return kernel_is_simulated() ? processes[kernel_process()].number : (pid_t)REAL(syscall)(SYS_getpid);
}

pid_t kernel_number_of_real_process(pid_t real) {
    for (int i = 1; i < most_processes; i++) if (processes[i].role != 0 && processes[i].real == real) return processes[i].number;
    return 0;
}

static int send_signal(struct process *process, int signal) {
    kernel_note("process %d gets signal %d", process->number, signal);
    process->signals |= 1ull << signal;
    kernel_wake(process, 1);
    return 0;
}

int kill(pid_t number, int signal) {
    if (!kernel_is_simulated()) return REAL(kill)(number, signal);
    kernel_step("kill");
    if (!has_processes && number == getpid()) return REAL(kill)((pid_t)REAL(syscall)(SYS_getpid), signal);
    struct process *process = process_numbered(number);
    if (process != NULL) return send_signal(process, signal);
    errno = ESRCH;
    return -1;
}

void simulation_signal_service(int signal) {
    for (int i = 1; i < most_processes; i++) if (processes[i].role == simulation_service) send_signal(&processes[i], signal);
}

int sigwait(const sigset_t *restrict signals, int *restrict signal) {
    if (!has_processes || !kernel_is_simulated()) return REAL(sigwait)(signals, signal);
    struct process *process = &processes[kernel_process()];
    for (;;) {
        for (int i = 1; i < 64; i++) {
            if ((process->signals & 1ull << i) == 0 || sigismember(signals, i) != 1) continue;
            process->signals &= ~(1ull << i);
            *signal = i;
            return 0;
        }
        kernel_wait(process, FOREVER, "sigwait");
    }
}
