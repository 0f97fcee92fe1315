// What the system has to pick proxies with, looked for when it is needed first, since a program need not have it: Duktape,
// which runs scripts, and libproxy, which reads the settings of the desktop.
#ifndef C_LOADING_PROXIES_H
#define C_LOADING_PROXIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- scripts

// Whether there is a library that runs scripts, and a way to shut it in. Any thread; takes a moment the first time.
bool clx_has_engine(void);

// A script that is running: a process that has nothing but a copy of this one's memory and one end of a socket.
typedef struct {
    int32_t process;
    int32_t descriptor;
} clx_run;

typedef struct {
    const char *bytes;
    size_t count;
} clx_text;

// The arguments and the result of a script.
typedef enum {
    CLX_ANSWER = 'A',   // what FindProxyForURL has returned
    CLX_FAILED = 'F',   // nothing that is an answer
    CLX_RESOLVE = 'R',  // it wants to know the address of this host
    CLX_OWN = 'O',      // it wants to know the address of this machine
    CLX_TIMED_OUT = 0,  // nothing within the time, or the process has ended
} clx_kind;

// Runs `functions`, then `script`, and then calls its FindProxyForURL(url, host). False if there can be no process now.
bool clx_begin(clx_text functions, clx_text script, clx_text url, clx_text host, clx_run *run);

// The script's next message. Its text is in `bytes`, truncated if it is longer.
clx_kind clx_next(const clx_run *run, int milliseconds, char *bytes, size_t capacity, size_t *count);

// Answers CLX_RESOLVE and CLX_OWN; an empty text is JavaScript's null.
void clx_tell(const clx_run *run, clx_text text);

// Ends the process, whatever it does.
void clx_end(clx_run *run);

// ---- the desktop

// Whether libproxy is there. Any thread. It is loaded only if it is not in its usual place: loading takes most of a millisecond, which a
// program without requests to other hosts never needs.
bool clx_has_desktop(void);

// The proxies for a URL as libproxy lists them, one a line, and 0 at the end; NULL if it has nothing to say. May take any
// time. One thread at a time. The caller frees it.
char *clx_ask_desktop(const char *url);

#endif
