// The start of the process of background transfers: what must happen between `vfork` and `exec`, and before `main`.
#ifndef C_LOADING_DAEMON_H
#define C_LOADING_DAEMON_H

#include <sys/socket.h>
#include <sys/types.h>

// The number of the descriptor of the listening socket in the environment of a service.
#define CLD_SOCKET_VARIABLE "URLSESSIOND_SOCKET"

// Listens on a new UNIX socket, which only its owner may connect to. The descriptor is closed by an exec. -1 with errno set.
int cld_listen(const void *address, socklen_t length);

// Listens on a new UNIX socket and executes a program with it as descriptor 3, and with /dev/null as 0 to 2, in a session of its own.
// The process is no child of the caller, and has none of its other descriptors, signal handlers and masks. The socket exists only there,
// so another thread that forks meanwhile does not inherit it.
//
// Returns 0 or an errno. After an error there is no such socket.
int cld_start_service(
    const char *program, char *const arguments[], char *const environment[], const void *address, socklen_t length);

// The path of the library that contains this code; NULL if it is part of the executable.
const char *cld_library(void);

// Whether this program runs the service when it is started with `CLD_SOCKET_VARIABLE`. Not if it has other rights than the user, because
// then it ignores its environment.
int cld_can_serve(void);

char **cld_environment(void);

#endif
