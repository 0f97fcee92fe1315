// Has a load tool do the work, and reports what it cost as the other clients do.
//
// --program h2load prints how many responses came and how long they were. --program gtlsclient has only
// its exit status; the driver looks at the bytes that went over the wire.
#define _GNU_SOURCE
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { most_arguments = 32 };

static char *text_of(long number) {
    char *text = NULL;
    if (asprintf(&text, "%ld", number) < 0) exit(1);
    return text;
}

static void arguments_of_h2load(const struct workload *workload, const char **arguments) {
    const char *fixed[] = {"h2load", "-t", "1", "-c", text_of(workload->connections), "-n", text_of(workload->requests),
                           "-m", text_of(workload->concurrency), workload->url};
    memcpy(arguments, fixed, sizeof fixed);
    if (!workload->upload) return;
    arguments += sizeof fixed / sizeof *fixed;
    arguments[0] = "-d";
    arguments[1] = workload->upload;
}

/// It has as many streams at once as the server allows, which is the concurrency.
static void arguments_of_gtlsclient(const struct workload *workload, const char **arguments) {
    const char *fixed[] = {"gtlsclient", "--quiet", "--exit-on-all-streams-close", "-n", text_of(workload->requests),
                           "-m", workload->upload ? "POST" : "GET", "127.0.0.1", text_of(workload->port), workload->url};
    memcpy(arguments, fixed, sizeof fixed);
    if (!workload->upload) return;
    arguments += sizeof fixed / sizeof *fixed;
    arguments[0] = "-d";
    arguments[1] = workload->upload;
}

static pid_t start(const char **arguments, int *output) {
    int ends[2];
    if (pipe(ends) != 0) exit(1);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execvp(arguments[0], (char **)arguments);
        perror(arguments[0]);
        _exit(127);
    }
    close(ends[1]);
    *output = ends[0];
    return child;
}

/// "requests: 20000 total, 20000 started, 20000 done, 20000 succeeded, …" and "traffic: … 1.91MB (2000000) data".
static void read_h2load(FILE *output, struct totals *totals) {
    char line[512];
    while (fgets(line, sizeof line, output)) {
        long total, started, done, succeeded;
        if (sscanf(line, "requests: %ld total, %ld started, %ld done, %ld", &total, &started, &done, &succeeded) == 4) {
            totals->requests = succeeded;
            totals->errors = total - succeeded;
        }
        char *last = strrchr(line, '(');
        if (strncmp(line, "traffic:", 8) == 0 && last) totals->bytes = strtoull(last + 1, NULL, 10);
    }
}

static void drain(FILE *output) {
    char line[512];
    while (fgets(line, sizeof line, output)) continue;
}

int main(int argc, char **argv) {
    if (argc < 3 || strcmp(argv[1], "--program") != 0) return fprintf(stderr, "missing option: --program\n"), 2;
    int is_h2load = strcmp(argv[2], "h2load") == 0;
    struct workload workload = workload_from_arguments(argc - 2, argv + 2, 0);
    const char *arguments[most_arguments] = {NULL};
    (is_h2load ? arguments_of_h2load : arguments_of_gtlsclient)(&workload, arguments);
    meter_start();
    struct totals totals = {0};
    int descriptor, status = 0;
    pid_t child = start(arguments, &descriptor);
    FILE *output = fdopen(descriptor, "r");
    if (child < 0 || !output) return 1;
    is_h2load ? read_h2load(output, &totals) : drain(output);
    struct rusage usage;
    if (wait4(child, &status, 0, &usage) != child) return 1;
    int good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!is_h2load && good) {
        totals.requests = workload.requests;
        totals.bytes = (uint64_t)workload.requests * workload.body;
    }
    if (!good) totals.errors++;
    return meter_report_other(&totals, &usage);
}
