// Processes of worlds. They are forked from one that has loaded and resolved everything, so that a world does not pay for it; it runs no
// thread and writes to its memory alike for each world, so two processes of one world begin with the same memory.
#include "Kernel.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

static const int power_cut = 74;
// A world that waits in the real kernel, where no simulated clock goes on, does not end.
static const unsigned most_seconds = 600;

// ---- processors: as many in each world, whatever the machine has

static int processors(void) { return 2; }

long sysconf(int name) {
    if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return processors();
    return REAL(sysconf)(name);
}
int get_nprocs(void) { return processors(); }
int get_nprocs_conf(void) { return processors(); }

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set) {
    memset(set, 0, size);
    for (int i = 0; i < processors(); i++) CPU_SET_S(i, size, set);
    return 0;
}

int simulation_processors(int32_t *numbers, int most) {
    cpu_set_t set;
    CPU_ZERO(&set);
    REAL(sched_getaffinity)(0, sizeof set, &set);
    int count = 0;
    for (int i = 0; i < CPU_SETSIZE && count < most; i++) if (CPU_ISSET(i, &set)) numbers[count++] = i;
    return count;
}

// ---- power cuts

static simulation_state *state_at_cut;

_Noreturn void kernel_restart(void) {
    *state_at_cut = (simulation_state){ simulation_now(), simulation_events(), simulation_hash() };
    kernel_exit(power_cut);
}

// ---- the process that forks

static pid_t child;
static volatile sig_atomic_t is_late;

static void end_child(int signal) {
    if (signal == SIGALRM) is_late = 1;
    if (child > 0) kill(child, SIGKILL);
    if (signal != SIGALRM) kernel_exit(128 + signal);
}

static void redirect(const char *path, int descriptor, bool is_first) {
    if (path == NULL) return;
    int file = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (is_first ? O_TRUNC : 0), 0600);
    if (file < 0 || dup2(file, descriptor) < 0) kernel_exit(1);
    close(file);
}

// False at the end. No memory is allocated.
static bool read_line(char *line, size_t capacity) {
    size_t length = 0;
    while (length < capacity) {
        ssize_t count = REAL(read)(STDIN_FILENO, line + length, 1);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        if (line[length] == '\n') {
            line[length] = 0;
            return true;
        }
        length++;
    }
    return false;
}

const char *simulation_next_world(
    const char *output, const char *errors, const char *events, int processor, simulation_state *state) {
    const size_t longest = 1 << 20;
    char *line = malloc(longest);
    state_at_cut = mmap(NULL, sizeof *state_at_cut, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct sigaction action = { .sa_handler = end_child };
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    // What the terminal interrupts is the campaign, and this process ends with it.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (processor >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(processor, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    if (events != NULL) kernel_begin_recording(events);
    while (read_line(line, longest)) {
        int status = 0;
        kernel_clear_recording();
        is_late = 0;
        *state_at_cut = (simulation_state){ 0 };
        do {
            simulation_state before = *state_at_cut;
            child = fork();
            if (child == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                signal(SIGALRM, SIG_DFL);
                signal(SIGTERM, SIG_DFL);
                redirect(output, STDOUT_FILENO, before.clock == 0);
                redirect(errors, STDERR_FILENO, before.clock == 0);
                *state = before;
                return line;
            }
            alarm(most_seconds);
            while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
            alarm(0);
            child = 0;
        } while (WIFEXITED(status) && WEXITSTATUS(status) == power_cut);
        char text[32];
        int code = is_late ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        int length = snprintf(text, sizeof text, "%d\n", code);
        if (REAL(write)(STDOUT_FILENO, text, (size_t)length) != length) break;
    }
    kernel_exit(0);
}
