// What every C client of the benchmark shares: the command line that describes the work, and the line that reports it.
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <stdint.h>
#include <sys/resource.h>

struct workload {
    const char *url;
    /// Taken from the URL, which is always scheme://127.0.0.1:port/path.
    int tls;
    /// Not HTTP but messages: `concurrency` of them are on their way in all, `body` bytes long.
    int websocket;
    int port;
    const char *path;
    long requests;
    long concurrency;
    long connections;
    /// Bytes each response must have.
    uint64_t body;
    /// Bytes the client reads at a time.
    long buffer;
    /// NULL: the body goes nowhere.
    const char *file;
    /// NULL: a GET. Else the file to be sent by POST.
    const char *upload;
    /// Of HTTP.
    int version;
};

struct totals {
    long requests;
    long errors;
    uint64_t bytes;
};

/// Ends the process with a message when the command line is wrong.
struct workload workload_from_arguments(int argc, char **argv, long default_buffer);
void meter_start(void);
/// Prints the one line of JSON and returns the exit status.
int meter_report(const struct totals *totals);
/// The same for the work of another process, from what `wait4` returned about it.
int meter_report_other(const struct totals *totals, const struct rusage *usage);

#endif
