#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void refuse(const char *message, const char *detail) {
    fprintf(stderr, "%s: %s\n", message, detail);
    exit(2);
}

static void parse_url(struct workload *workload) {
    char scheme[8];
    int path_at = 0;
    if (sscanf(workload->url, "%7[a-z]://127.0.0.1:%d%n", scheme, &workload->port, &path_at) != 2 || path_at == 0)
        refuse("not a URL of the benchmark's server", workload->url);
    workload->websocket = strncmp(scheme, "ws", 2) == 0;
    workload->tls = strcmp(scheme, "https") == 0 || strcmp(scheme, "wss") == 0;
    workload->path = workload->url + path_at;
}

struct workload workload_from_arguments(int argc, char **argv, long default_buffer) {
    struct workload workload = {
        .requests = 1, .concurrency = 1, .connections = 1, .body = 100, .buffer = default_buffer, .version = 1};
    for (int index = 1; index + 1 < argc; index += 2) {
        const char *name = argv[index], *value = argv[index + 1];
        if (strcmp(name, "--url") == 0) workload.url = value;
        else if (strcmp(name, "--requests") == 0) workload.requests = atol(value);
        else if (strcmp(name, "--concurrency") == 0) workload.concurrency = atol(value);
        else if (strcmp(name, "--connections") == 0) workload.connections = atol(value);
        else if (strcmp(name, "--body") == 0) workload.body = strtoull(value, NULL, 10);
        else if (strcmp(name, "--buffer") == 0) workload.buffer = atol(value);
        else if (strcmp(name, "--file") == 0) workload.file = value;
        else if (strcmp(name, "--upload") == 0) workload.upload = value;
        else if (strcmp(name, "--version") == 0) workload.version = atoi(value);
        else refuse("unknown option", name);
    }
    if (!workload.url) refuse("missing option", "--url");
    parse_url(&workload);
    return workload;
}

static struct rusage usage_at_start;
static struct timespec time_at_start;

void meter_start(void) {
    getrusage(RUSAGE_SELF, &usage_at_start);
    clock_gettime(CLOCK_MONOTONIC, &time_at_start);
}

static double seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/// The kernel's ru_maxrss survives exec and so may be the driver's size; VmHWM belongs to this program alone.
static long peak_resident_kilobytes(void) {
    char line[256];
    long peak = 0;
    FILE *status = fopen("/proc/self/status", "r");
    if (!status) return 0;
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &peak) == 1) break;
    fclose(status);
    return peak;
}

static int print_report(const struct totals *totals, double user, double sys, double user_work, double sys_work,
                        long peak) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    char line[512];
    int length = snprintf(
        line, sizeof line,
        "{\"requests\":%ld,\"bytes\":%llu,\"seconds\":%.6f,\"cpu_user\":%.6f,\"cpu_sys\":%.6f,"
        "\"process_cpu_user\":%.6f,\"process_cpu_sys\":%.6f,\"peak_rss_kb\":%ld,\"errors\":%ld}\n",
        totals->requests, (unsigned long long)totals->bytes,
        (double)(now.tv_sec - time_at_start.tv_sec) + (double)(now.tv_nsec - time_at_start.tv_nsec) / 1e9,
        user_work, sys_work, user, sys, peak, totals->errors);
    return write(STDOUT_FILENO, line, (size_t)length) == length && totals->errors == 0 ? 0 : 1;
}

int meter_report(const struct totals *totals) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double user = seconds(usage.ru_utime), sys = seconds(usage.ru_stime);
    return print_report(totals, user, sys, user - seconds(usage_at_start.ru_utime),
                        sys - seconds(usage_at_start.ru_stime), peak_resident_kilobytes());
}

int meter_report_other(const struct totals *totals, const struct rusage *usage) {
    double user = seconds(usage->ru_utime), sys = seconds(usage->ru_stime);
    return print_report(totals, user, sys, user, sys, usage->ru_maxrss);
}
