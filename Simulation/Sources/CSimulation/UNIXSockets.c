// Stream sockets of UNIX, between processes of a world. Octets arrive at once.
#include "Disk.h"
#include "Sockets.h"
#include <limits.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum unix_state { unix_new, unix_listens, unix_connected };

struct unix_socket {
    struct file *file; // NULL before it is accepted, and once it is closed
    enum unix_state state;
    int process;
    // Of one that listens: its file, and the pending connections.
    char path[PATH_MAX];
    ino_t inode;
    struct unix_socket *first_waiting, *next;
    bool is_shut_down;
    // Of one that is connected. NULL once the other side is closed.
    struct unix_socket *peer;
    uint8_t *received;
    size_t count, capacity;
    int error; // reported once
    bool has_end, sends_no_more, wants_room;
};

// Those that listen.
static struct unix_socket *listeners;

static void changed(struct unix_socket *s) { if (s->file != NULL) kernel_file_changed(s->file); }

static bool has_room(struct unix_socket *s) { return s->peer == NULL || s->peer->count * 4 <= s->peer->capacity * 3; }

static uint32_t unix_readiness(struct file *file) {
    struct unix_socket *s = file->state;
    if (s->state == unix_new) return EPOLLOUT | EPOLLHUP;
    if (s->state == unix_listens) return (s->first_waiting != NULL ? EPOLLIN : 0) | (s->is_shut_down ? EPOLLHUP : 0);
    return (s->count > 0 || s->has_end ? EPOLLIN : 0) | (s->has_end ? EPOLLRDHUP : 0) | (has_room(s) ? EPOLLOUT : 0)
        | (s->peer == NULL || (s->has_end && s->sends_no_more) ? EPOLLHUP : 0) | (s->error != 0 ? EPOLLERR : 0);
}

// ---- ends

static void end_connected(struct unix_socket *s) {
    struct unix_socket *peer = s->peer;
    if (peer != NULL) {
        peer->peer = NULL;
        peer->has_end = true;
        // As the kernel does if there are unread bytes.
        if (s->count > 0) peer->error = ECONNRESET;
        changed(peer);
    }
    free(s->received);
    free(s);
}

static void unix_close(struct file *file) {
    struct unix_socket *s = file->state;
    s->file = NULL;
    if (s->state == unix_listens) {
        struct unix_socket **link = &listeners;
        while (*link != s) link = &(*link)->next;
        *link = s->next;
        for (struct unix_socket *waiting = s->first_waiting, *next; waiting != NULL; waiting = next) {
            next = waiting->next;
            end_connected(waiting);
        }
        kernel_note("%s: no listener", strrchr(s->path, '/') + 1);
    } else if (s->state == unix_connected) {
        kernel_note("a connection to a process is closed");
    }
    end_connected(s);
}

static int unix_shut_down(struct file *file, int how) {
    struct unix_socket *s = file->state;
    kernel_step("shutdown");
    if (s->state == unix_listens) {
        s->is_shut_down = true;
        changed(s);
        return 0;
    }
    if (s->state == unix_new) return (int)fail_with(ENOTCONN);
    if (how != SHUT_RD) {
        s->sends_no_more = true;
        if (s->peer != NULL) {
            s->peer->has_end = true;
            changed(s->peer);
        }
    }
    if (how != SHUT_WR) s->has_end = true;
    changed(s);
    return 0;
}

// ---- octets

static ssize_t take_error(struct unix_socket *s) {
    int error = s->error;
    s->error = 0;
    return fail_with(error);
}

static ssize_t unix_receive(struct file *file, void *bytes, size_t count, int flags) {
    struct unix_socket *s = file->state;
    if (s->state != unix_connected) return fail_with(EINVAL);
    while (s->count == 0) {
        if (s->error != 0) return take_error(s);
        if (s->has_end) return 0;
        if (!file->is_blocking || (flags & MSG_DONTWAIT)) return fail_with(EAGAIN);
        kernel_wait_for_file(file, EPOLLIN, "recv");
    }
    size_t taken = s->count < count ? s->count : count;
    memcpy(bytes, s->received, taken);
    if (flags & MSG_PEEK) return (ssize_t)taken;
    s->count -= taken;
    memmove(s->received, s->received + taken, s->count);
    if (s->peer != NULL && s->peer->wants_room && has_room(s->peer)) {
        s->peer->wants_room = false;
        changed(s->peer);
    }
    return (ssize_t)taken;
}

static ssize_t unix_send(struct file *file, const void *bytes, size_t count, int flags) {
    struct unix_socket *s = file->state;
    if (s->state != unix_connected) return fail_with(ENOTCONN);
    for (;;) {
        if (s->error != 0) return take_error(s);
        if (s->peer == NULL || s->sends_no_more) return fail_with(EPIPE);
        if (s->peer->count < s->peer->capacity) break;
        s->wants_room = true;
        if (!file->is_blocking || (flags & MSG_DONTWAIT)) return fail_with(EAGAIN);
        kernel_wait_for_file(file, EPOLLOUT, "send");
    }
    struct unix_socket *peer = s->peer;
    size_t room = peer->capacity - peer->count, sent = count < room ? count : room;
    memcpy(peer->received + peer->count, bytes, sent);
    peer->count += sent;
    if (sent < count) s->wants_room = true;
    changed(peer);
    return (ssize_t)sent;
}

static ssize_t unix_read(struct file *file, void *bytes, size_t count) { return unix_receive(file, bytes, count, 0); }
static ssize_t unix_write(struct file *file, const void *bytes, size_t count) { return unix_send(file, bytes, count, 0); }

static const struct file_kind unix_kind;

// ---- connecting

static struct unix_socket *make(void) {
    struct unix_socket *s = calloc(1, sizeof *s);
    s->process = kernel_process();
    return s;
}

int unix_socket(bool is_blocking) {
    struct unix_socket *s = make();
    int descriptor = kernel_add_file(&unix_kind, s, is_blocking);
    s->file = kernel_file(descriptor);
    return descriptor;
}

// An address has no room for a long path. The library writes one by way of the descriptor of its folder.
bool kernel_unix_path(const struct sockaddr *address, char *path) {
    const char *given = ((const struct sockaddr_un *)address)->sun_path, *name = strrchr(given, '/');
    char folder[PATH_MAX];
    if (strncmp(given, "/proc/self/fd/", 14) != 0) {
        snprintf(path, PATH_MAX, "%s", given);
        return true;
    }
    char link[sizeof(((struct sockaddr_un *)0)->sun_path)];
    snprintf(link, sizeof link, "%.*s", (int)(name - given), given);
    ssize_t length = readlink(link, folder, sizeof folder - 1);
    return length > 0 && snprintf(path, PATH_MAX, "%.*s%s", (int)length, folder, name) < PATH_MAX;
}

static int bind_to(struct unix_socket *s, const char *path) {
    struct stat status;
    if (mknod(path, S_IFSOCK | 0600, 0) != 0) return errno == EEXIST ? (int)fail_with(EADDRINUSE) : -1;
    if (lstat(path, &status) != 0) return -1;
    snprintf(s->path, sizeof s->path, "%s", path);
    s->inode = status.st_ino;
    return 0;
}

static int unix_bind(struct file *file, const struct sockaddr *address, socklen_t size) {
    char path[PATH_MAX];
    return kernel_unix_path(address, path) ? bind_to(file->state, path) : (int)fail_with(ENOENT);
}

static void begin_listening(struct unix_socket *s) {
    s->state = unix_listens;
    s->next = listeners;
    listeners = s;
    kernel_note("%s: a process listens", strrchr(s->path, '/') + 1);
}

int listen(int descriptor, int backlog) {
    struct file *file = kernel_called("listen", descriptor);
    if (file == NULL) return REAL(listen)(descriptor, backlog);
    if (file->kind != &unix_kind) return (int)fail_with(EOPNOTSUPP);
    begin_listening(file->state);
    return 0;
}

struct file *kernel_unix_listener(const char *path) {
    struct unix_socket *s = make();
    if (bind_to(s, path) != 0) {
        free(s);
        return NULL;
    }
    s->file = kernel_make_file(&unix_kind, s, false);
    begin_listening(s);
    return s->file;
}

static void give_room(struct unix_socket *s) {
    // The kernel's, or one that is full soon.
    s->capacity = simulation_random(4) == 0 ? 2048 + simulation_random(16384) : 212992;
    s->received = malloc(s->capacity);
    s->state = unix_connected;
}

static int unix_connect(struct file *file, const struct sockaddr *address, socklen_t size) {
    struct unix_socket *s = file->state;
    if (s->state == unix_connected) return (int)fail_with(EISCONN);
    char path[PATH_MAX];
    struct stat status;
    // The machine's own services are not in the world.
    if (!kernel_unix_path(address, path) || !disk_is_inside(path)) return (int)fail_with(ENOENT);
    if (lstat(path, &status) != 0) return -1;
    struct unix_socket *listener = listeners;
    while (listener != NULL && listener->inode != status.st_ino) listener = listener->next;
    if (listener == NULL || listener->is_shut_down) return (int)fail_with(ECONNREFUSED);
    struct unix_socket *other = make();
    other->process = listener->process;
    s->process = kernel_process();
    give_room(s);
    give_room(other);
    s->peer = other;
    other->peer = s;
    struct unix_socket **end = &listener->first_waiting;
    while (*end != NULL) end = &(*end)->next;
    *end = other;
    kernel_note("%s: a process connects", strrchr(listener->path, '/') + 1);
    changed(listener);
    return 0;
}

int accept4(int descriptor, struct sockaddr *restrict address, socklen_t *restrict size, int flags) {
    struct file *file = kernel_called("accept4", descriptor);
    if (file == NULL) return REAL(accept4)(descriptor, address, size, flags);
    if (file->kind != &unix_kind) return (int)fail_with(EOPNOTSUPP);
    struct unix_socket *listener = file->state;
    if (listener->state != unix_listens) return (int)fail_with(EINVAL);
    while (listener->first_waiting == NULL) {
        if (listener->is_shut_down) return (int)fail_with(EINVAL);
        if (!file->is_blocking) return (int)fail_with(EAGAIN);
        kernel_wait_for_file(file, EPOLLIN, "accept");
    }
    if (disk_has_no_descriptor()) return -1;
    struct unix_socket *s = listener->first_waiting;
    listener->first_waiting = s->next;
    s->next = NULL;
    // Nothing may interrupt the two: a process that is killed in between would leave the socket without an owner.
    kernel_begin_atomic();
    int accepted = kernel_add_file(&unix_kind, s, (flags & SOCK_NONBLOCK) == 0);
    s->file = kernel_file(accepted);
    kernel_end_atomic();
    return accepted;
}

static int unix_option(struct file *file, int level, int option, void *value, socklen_t *size) {
    struct unix_socket *s = file->state;
    switch (option) {
    case SO_PEERCRED:
        // 0: as for a process of another namespace. A real one could not be followed (pidfd_open) in the simulated time.
        *(struct ucred *)value = (struct ucred){ 0, geteuid(), getegid() };
        *size = sizeof(struct ucred);
        return 0;
    case SO_ERROR: {
        *(int *)value = s->error;
        s->error = 0;
        return 0;
    }
    case SO_ACCEPTCONN:
        *(int *)value = s->state == unix_listens;
        return 0;
    default: return (int)fail_with(ENOPROTOOPT);
    }
}

static const struct socket_calls unix_calls = {
    .bind = unix_bind, .connect = unix_connect, .receive = unix_receive, .send = unix_send, .shut_down = unix_shut_down,
    .option = unix_option,
};
static const struct file_kind unix_kind = {
    .name = "UNIX socket", .readiness = unix_readiness, .read = unix_read, .write = unix_write, .close = unix_close,
    .calls = &unix_calls,
};
