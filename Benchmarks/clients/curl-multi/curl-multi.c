// The reference client: libcurl's multi interface, easy handles kept and used again.
#include "workload.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct transfer {
    CURL *easy;
    uint64_t received;
    off_t sent;
};

static struct workload workload;
static struct totals totals;
static long started;
static int file = -1, upload = -1;
static off_t upload_size;
static CURLM *multi;

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    size_t length = size * count;
    transfer->received += length;
    for (size_t at = 0; file >= 0 && at < length;) {
        ssize_t written = write(file, bytes + at, length - at);
        if (written < 0) return 0;
        at += (size_t)written;
    }
    return length;
}

static size_t give_body(char *bytes, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    ssize_t got = pread(upload, bytes, size * count, transfer->sent);
    if (got < 0) return CURL_READFUNC_ABORT;
    transfer->sent += got;
    return (size_t)got;
}

static void start(struct transfer *transfer) {
    started++;
    transfer->received = 0;
    transfer->sent = 0;
    curl_multi_add_handle(multi, transfer->easy);
}

static void prepare(struct transfer *transfer) {
    CURL *easy = transfer->easy = curl_easy_init();
    if (!easy) exit(1);
    curl_easy_setopt(easy, CURLOPT_URL, workload.url);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    if (workload.buffer) curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, workload.buffer);
    if (workload.version == 2) {
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
        curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    }
    if (upload >= 0) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)upload_size);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, give_body);
        curl_easy_setopt(easy, CURLOPT_READDATA, transfer);
        if (workload.buffer) curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, workload.buffer);
    }
    // As the curl tool does; libcurl itself does not look at it.
    const char *authorities = getenv("SSL_CERT_DIR");
    if (authorities) curl_easy_setopt(easy, CURLOPT_CAPATH, authorities);
}

/// Counts the transfers that have ended and starts as many.
static void collect(void) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        CURL *easy = message->easy_handle;
        CURLcode result = message->data.result;
        struct transfer *transfer = NULL;
        long status = 0;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        totals.requests++;
        totals.bytes += transfer->received;
        if (result != CURLE_OK || status != 200 || transfer->received != workload.body) totals.errors++;
        curl_multi_remove_handle(multi, easy);
        if (started < workload.requests) start(transfer);
    }
}

static void run(void) {
    int running;
    do {
        curl_multi_perform(multi, &running);
        collect();
        if (totals.requests < workload.requests) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    } while (totals.requests < workload.requests);
}

int main(int argc, char **argv) {
    workload = workload_from_arguments(argc, argv, 0);
    if (workload.file && (file = open(workload.file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) < 0)
        return perror(workload.file), 1;
    if (workload.upload) {
        struct stat status;
        if ((upload = open(workload.upload, O_RDONLY | O_CLOEXEC)) < 0 || fstat(upload, &status) != 0)
            return perror(workload.upload), 1;
        upload_size = status.st_size;
    }
    meter_start();
    curl_global_init(CURL_GLOBAL_ALL);
    multi = curl_multi_init();
    struct transfer *transfers = calloc((size_t)workload.concurrency, sizeof *transfers);
    if (!multi || !transfers) return 1;
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, workload.version == 2 ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, workload.connections);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, workload.connections);
    for (long index = 0; index < workload.concurrency && index < workload.requests; index++) {
        prepare(&transfers[index]);
        start(&transfers[index]);
    }
    run();
    if (file >= 0 && close(file) != 0) totals.errors++;
    return meter_report(&totals);
}
