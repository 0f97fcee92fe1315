// TCP between the process and simulated hosts.
#include "Disk.h"
#include "Sockets.h"
#include <fcntl.h>
#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct bytes { uint8_t *start; int64_t first, end, capacity; };

static void append(struct bytes *bytes, const void *more, int64_t count) {
    if (bytes->end + count > bytes->capacity) {
        int64_t held = bytes->end - bytes->first, capacity = 2 * (held + count) + 1024;
        uint8_t *start = malloc((size_t)capacity);
        if (held > 0) memcpy(start, bytes->start + bytes->first, (size_t)held);
        free(bytes->start);
        *bytes = (struct bytes){ start, 0, held, capacity };
    }
    memcpy(bytes->start + bytes->end, more, (size_t)count);
    bytes->end += count;
}
static int64_t length(const struct bytes *bytes) { return bytes->end - bytes->first; }
static int64_t minimum(int64_t a, int64_t b) { return a < b ? a : b; }

// ---- hosts

struct host {
    simulation_address address;
    uint16_t port;
    simulation_listener listener;
    struct host *next;
};
struct route { simulation_address address; simulation_link link; bool has_link, is_unreachable; int error; struct route *next; };
static struct host *hosts;
static struct route *routes;

static struct host *host_at(simulation_address address, uint16_t port) {
    for (struct host *host = hosts; host != NULL; host = host->next) {
        if (host->address == address && host->port == port) return host;
    }
    return NULL;
}

static struct route *route_to(simulation_address address, bool makes) {
    for (struct route *route = routes; route != NULL; route = route->next) if (route->address == address) return route;
    if (!makes) return NULL;
    struct route *route = calloc(1, sizeof *route);
    route->address = address;
    route->next = routes;
    return routes = route;
}

void simulation_listen(simulation_address address, uint16_t port, simulation_listener listener) {
    struct host *host = host_at(address, port);
    if (host == NULL) {
        host = calloc(1, sizeof *host);
        host->next = hosts;
        hosts = host;
    }
    *host = (struct host){ address, port, listener, host->next };
}

void simulation_set_link(simulation_address address, simulation_link link) {
    struct route *route = route_to(address, true);
    route->link = link;
    route->has_link = true;
}

void simulation_set_reachable(simulation_address address, bool is_reachable) {
    route_to(address, true)->is_unreachable = !is_reachable;
    kernel_note("host %llx is %s", (unsigned long long)address, is_reachable ? "reachable" : "not reachable");
}

void simulation_set_unreachable(simulation_address address, int error) { route_to(address, true)->error = error; }

bool network_is_reachable(simulation_address address) {
    struct route *route = route_to(address, false);
    return route == NULL || !route->is_unreachable;
}

int network_error(simulation_address address) {
    struct route *route = route_to(address, false);
    return route != NULL ? route->error : 0;
}

static simulation_link link_to(simulation_address address) {
    struct route *route = route_to(address, false);
    if (route == NULL || !route->has_link) route = route_to(0, false);
    if (route != NULL && route->has_link) return route->link;
    return (simulation_link){
        .latency = 1000000, .jitter = 1000000, .largest_segment = 16384, .send_buffer = 256 * 1024, .receive_buffer = 128 * 1024,
    };
}

// ---- a connection

enum connection_state { connection_new, connection_connects, connection_open, connection_failed };

struct connection {
    int number;
    struct file *file; // NULL once the program has closed it
    struct host *host; // NULL before connect
    int family;
    simulation_address address, own;
    uint16_t port, local_port;
    simulation_link link;
    enum connection_state state;
    int error; // reported once
    // From the host: not sent yet (the window is full), on the way, arrived.
    struct bytes unsent;
    int64_t together; // so many of them at the end arrive in one piece
    int64_t inbound;
    struct bytes received;
    bool host_finishes, fin_is_on_its_way, has_fin;
    // To the host: taken from the program and not acknowledged.
    int64_t outbound;
    uint64_t taken; // acknowledged in all
    bool is_shut_down, resets_host, is_broken, is_silent, host_was_told;
    // A write did not fit: the next acknowledgement that makes room is an edge.
    bool wants_room;
    // What was lost, and everything behind it, until it is sent again.
    struct { void (*work)(void *context); void *context; } *lost;
    int lost_count, lost_capacity;
    bool sends_again, is_sending_again;
    simulation_time last_arrival, last_departure;
    uint64_t segments; // in both directions
    int64_t bytes_to_break, bytes_to_silence;
    int events; // that refer to it
    struct connection *next;
};

static struct connection *connections;
static int connection_numbers;
static uint16_t ports = 40000;

int simulation_open_sockets(void) {
    int count = datagrams_open_sockets();
    for (struct connection *c = connections; c != NULL; c = c->next) count += c->file != NULL;
    return count;
}

static struct connection *connection_numbered(int number) {
    for (struct connection *c = connections; c != NULL; c = c->next) if (c->number == number) return c;
    return NULL;
}

static void release_if_unused(struct connection *c) {
    if (c->file != NULL || c->events > 0) return;
    if (c->host != NULL && !c->host_was_told) return;
    struct connection **link = &connections;
    while (*link != c) link = &(*link)->next;
    *link = c->next;
    free(c->unsent.start);
    free(c->received.start);
    free(c->lost);
    free(c);
}

static void changed(struct connection *c) { if (c->file != NULL) kernel_file_changed(c->file); }

struct delivery { struct connection *connection; int64_t count; uint8_t bytes[]; };

static simulation_time travel(struct connection *c, simulation_time *last) {
    simulation_time date = simulation_now() + c->link.latency + (simulation_time)simulation_random((uint64_t)c->link.jitter + 1);
    if (date <= *last) date = *last + 1;
    return *last = date;
}

// Short ones become longer as the connection goes on: a body in hundreds of thousands of them takes seconds, and shows nothing that its
// beginning has not shown.
static int64_t segment(struct connection *c) {
    const uint64_t doubling_count = 256, most_doublings = 14, long_enough = 16384;
    uint64_t doublings = c->segments++ / doubling_count, largest = (uint64_t)c->link.largest_segment;
    if (largest < long_enough) {
        largest <<= doublings < most_doublings ? doublings : most_doublings;
        if (largest > long_enough) largest = long_enough;
    }
    return 1 + (int64_t)simulation_random(largest);
}

static bool has_way(struct connection *c) { return network_is_reachable(c->address) && kernel_has_address(c->own); }
static bool passes(struct connection *c) { return !c->is_silent && has_way(c); }

static void send_again(void *context) {
    struct connection *c = context;
    c->sends_again = false;
    if (!has_way(c) && c->file != NULL) {
        c->sends_again = true;
        kernel_at(simulation_now() + 1000000000, send_again, c);
        return;
    }
    c->is_sending_again = true;
    for (int i = 0; i < c->lost_count; i++) c->lost[i].work(c->lost[i].context);
    c->lost_count = 0;
    c->is_sending_again = false;
    c->events--;
    release_if_unused(c);
}

// An event of a packet that is lost, or that comes after one: it happens later. The caller then does nothing.
static bool is_lost(struct connection *c, void (*work)(void *context), void *context) {
    if (c->is_silent || c->is_broken || c->is_sending_again) return false;
    if (has_way(c) && c->lost_count == 0) return false;
    if (c->lost_count == c->lost_capacity) {
        c->lost_capacity = 2 * c->lost_capacity + 8;
        c->lost = realloc(c->lost, (size_t)c->lost_capacity * sizeof *c->lost);
    }
    c->lost[c->lost_count].work = work;
    c->lost[c->lost_count++].context = context;
    if (!c->sends_again) {
        c->sends_again = true;
        c->events++;
        kernel_at(simulation_now() + 1000000000, send_again, c);
    }
    return true;
}

static void break_off(struct connection *c, const char *why);

// Counts what goes either way against the faults of the link.
static void count_down(struct connection *c, int64_t count) {
    if (c->bytes_to_silence > 0 && (c->bytes_to_silence -= minimum(count, c->bytes_to_silence)) == 0) {
        kernel_note("connection %d goes silent", c->number);
        c->is_silent = true;
    }
    if (c->bytes_to_break > 0 && (c->bytes_to_break -= minimum(count, c->bytes_to_break)) == 0) break_off(c, "fault of the link");
}

static void notify_host_of_end(struct connection *c, bool is_broken) {
    if (c->host_was_told || c->host == NULL) return;
    c->host_was_told = true;
    c->host->listener.ended(c->host->listener.context, c->number, is_broken);
}

static void notify_host_of_break(void *context) {
    struct connection *c = context;
    c->events--;
    notify_host_of_end(c, true);
    release_if_unused(c);
}

static void break_off(struct connection *c, const char *why) {
    if (c->is_broken) return;
    kernel_note("connection %d breaks: %s", c->number, why);
    c->is_broken = true;
    c->error = c->has_fin ? EPIPE : ECONNRESET;
    changed(c);
    c->events++;
    kernel_at(simulation_now(), notify_host_of_break, c);
}

// ---- from the host

static void send_unsent(struct connection *c);

static void arrive(void *context) {
    struct delivery *delivery = context;
    struct connection *c = delivery->connection;
    if (is_lost(c, arrive, context)) return;
    c->events--;
    c->inbound -= delivery->count;
    if (passes(c) && !c->is_broken && c->file != NULL) {
        kernel_note("connection %d: %lld bytes arrive", c->number, (long long)delivery->count);
        append(&c->received, delivery->bytes, delivery->count);
        count_down(c, delivery->count);
        changed(c);
    }
    free(delivery);
    release_if_unused(c);
}

static void arrive_fin(void *context) {
    struct connection *c = context;
    if (is_lost(c, arrive_fin, context)) return;
    c->events--;
    if (passes(c) && !c->is_broken) {
        kernel_note("connection %d: the host has finished", c->number);
        c->has_fin = true;
        changed(c);
    }
    release_if_unused(c);
}

static void arrive_reset(void *context) {
    struct connection *c = context;
    if (is_lost(c, arrive_reset, context)) return;
    c->events--;
    if (passes(c)) break_off(c, "reset by the host");
    release_if_unused(c);
}

static void send_unsent(struct connection *c) {
    while (length(&c->unsent) > 0) {
        int64_t window = c->link.receive_buffer - length(&c->received) - c->inbound;
        if (window <= 0) return;
        int64_t count = minimum(minimum(length(&c->unsent), window), segment(c)), before = length(&c->unsent) - c->together;
        if (before == 0) count = c->together;
        else if (count > before) count = before;
        if (before == 0) c->together = 0;
        struct delivery *delivery = malloc(sizeof *delivery + (size_t)count);
        *delivery = (struct delivery){ c, count };
        memcpy(delivery->bytes, c->unsent.start + c->unsent.first, (size_t)count);
        c->unsent.first += count;
        c->inbound += count;
        c->events++;
        kernel_at(travel(c, &c->last_arrival), arrive, delivery);
    }
    if (c->host_finishes && !c->fin_is_on_its_way) {
        c->fin_is_on_its_way = true;
        c->events++;
        kernel_at(travel(c, &c->last_arrival), arrive_fin, c);
    }
}

void simulation_send(int number, const void *bytes, int64_t count) {
    struct connection *c = connection_numbered(number);
    if (c == NULL || c->is_broken || c->host_finishes) return;
    append(&c->unsent, bytes, count);
    c->together = 0;
    send_unsent(c);
}

void simulation_send_together(int number, const void *bytes, int64_t count) {
    struct connection *c = connection_numbered(number);
    if (c == NULL || c->is_broken || c->host_finishes) return;
    append(&c->unsent, bytes, count);
    c->together = count;
    send_unsent(c);
}

bool simulation_is_read(int number) {
    struct connection *c = connection_numbered(number);
    return c == NULL || length(&c->unsent) + c->inbound + length(&c->received) == 0;
}

void simulation_finish(int number) {
    struct connection *c = connection_numbered(number);
    if (c == NULL || c->is_broken || c->host_finishes) return;
    c->host_finishes = true;
    send_unsent(c);
}

void simulation_reset(int number) {
    struct connection *c = connection_numbered(number);
    if (c == NULL || c->is_broken) return;
    c->events++;
    kernel_at(travel(c, &c->last_arrival), arrive_reset, c);
}

// ---- to the host

// The kernel says that a socket takes bytes when a third of its buffer is free.
static bool has_room(struct connection *c) { return (c->link.send_buffer - c->outbound) * 3 >= c->link.send_buffer; }

static void acknowledge(void *context) {
    struct delivery *delivery = context;
    struct connection *c = delivery->connection;
    if (is_lost(c, acknowledge, context)) return;
    c->events--;
    if (passes(c) && !c->is_broken) {
        c->outbound -= delivery->count;
        c->taken += (uint64_t)delivery->count;
        if (c->wants_room && has_room(c)) {
            c->wants_room = false;
            changed(c);
        }
    }
    free(delivery);
    release_if_unused(c);
}

static void reach_host(void *context) {
    struct delivery *delivery = context;
    struct connection *c = delivery->connection;
    if (is_lost(c, reach_host, context)) return;
    if (!passes(c) || c->is_broken || c->host_was_told) {
        c->events--;
        free(delivery);
        release_if_unused(c);
        return;
    }
    kernel_note("connection %d: %lld bytes reach the host", c->number, (long long)delivery->count);
    kernel_at(travel(c, &c->last_arrival), acknowledge, delivery);
    c->host->listener.received(c->host->listener.context, c->number, delivery->bytes, delivery->count);
    count_down(c, delivery->count);
}

static void end_at_host(void *context) {
    struct connection *c = context;
    if (is_lost(c, end_at_host, context)) return;
    c->events--;
    if (passes(c) && !c->is_broken) notify_host_of_end(c, c->resets_host);
    release_if_unused(c);
}

// A connection that the program has closed and that the host gets no packet of.
static void forget_at_host(void *context) {
    struct connection *c = context;
    c->events--;
    notify_host_of_end(c, true);
    release_if_unused(c);
}

// ---- connecting

static void connected(void *context) {
    struct connection *c = context;
    if (is_lost(c, connected, context)) return;
    c->events--;
    if (c->file != NULL && passes(c) && c->state == connection_connects) {
        int error = network_error(c->address);
        if (c->host == NULL || error != 0) {
            kernel_note("connection %d is refused: error %d", c->number, error);
            c->state = connection_failed;
            c->error = error != 0 ? error : ECONNREFUSED;
        } else {
            kernel_note("connection %d is open", c->number);
            c->state = connection_open;
            c->host_was_told = false;
            c->events++;
            c->host->listener.connected(c->host->listener.context, c->number);
            c->events--;
        }
        changed(c);
    }
    release_if_unused(c);
}

// As the kernel does after it has sent SYN several times.
static void connecting_ends(void *context) {
    struct connection *c = context;
    c->events--;
    if (c->state == connection_connects && c->file != NULL) {
        kernel_note("connection %d: no answer", c->number);
        c->state = connection_failed;
        c->error = ETIMEDOUT;
        changed(c);
    }
    release_if_unused(c);
}

// ---- the socket

static uint32_t socket_readiness(struct file *file) {
    struct connection *c = file->state;
    switch (c->state) {
    case connection_new: return EPOLLOUT | EPOLLHUP;
    case connection_connects: return 0;
    case connection_failed: return EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLRDHUP;
    case connection_open: break;
    }
    if (c->is_broken) return EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLRDHUP;
    return (length(&c->received) > 0 || c->has_fin ? EPOLLIN : 0) | (c->has_fin ? EPOLLRDHUP : 0)
        | (has_room(c) ? EPOLLOUT : 0) | (c->has_fin && c->is_shut_down ? EPOLLHUP : 0);
}

static ssize_t take_error(struct connection *c) {
    int error = c->error;
    c->error = 0;
    return fail_with(error);
}

static ssize_t socket_receive(struct file *file, void *bytes, size_t count, int flags) {
    struct connection *c = file->state;
    bool blocks = file->is_blocking && (flags & MSG_DONTWAIT) == 0;
    if (c->state == connection_new) return fail_with(ENOTCONN);
    for (;;) {
        // What has arrived is read before an error is reported.
        if (length(&c->received) > 0) break;
        if (c->error != 0) return take_error(c);
        if (c->is_broken || c->has_fin || c->state == connection_failed) return 0;
        if (!blocks) return fail_with(EAGAIN);
        kernel_wait_for_file(file, EPOLLIN, "recv");
    }
    int64_t taken = minimum(length(&c->received), (int64_t)count);
    if (taken > 0) memcpy(bytes, c->received.start + c->received.first, (size_t)taken);
    kernel_note("connection %d: reads %lld of %lld bytes", c->number, (long long)taken, (long long)length(&c->received));
    if ((flags & MSG_PEEK) == 0) {
        c->received.first += taken;
        send_unsent(c);
    }
    return taken;
}

static ssize_t socket_send(struct file *file, const void *bytes, size_t count, int flags) {
    struct connection *c = file->state;
    bool blocks = file->is_blocking && (flags & MSG_DONTWAIT) == 0;
    for (;;) {
        if (c->error != 0) return take_error(c);
        if (c->is_broken || c->is_shut_down || c->state == connection_failed) return fail_with(EPIPE);
        if (c->state == connection_new) return fail_with(ENOTCONN);
        if (c->state == connection_open && c->outbound < c->link.send_buffer) break;
        c->wants_room = true;
        if (!blocks) return fail_with(EAGAIN);
        kernel_wait_for_file(file, EPOLLOUT, "send");
    }
    int64_t sent = minimum((int64_t)count, c->link.send_buffer - c->outbound);
    c->outbound += sent;
    if (sent < (int64_t)count) c->wants_room = true;
    for (int64_t first = 0; first < sent;) {
        int64_t part = minimum(sent - first, segment(c));
        struct delivery *delivery = malloc(sizeof *delivery + (size_t)part);
        *delivery = (struct delivery){ c, part };
        memcpy(delivery->bytes, (const uint8_t *)bytes + first, (size_t)part);
        first += part;
        c->events++;
        kernel_at(travel(c, &c->last_departure), reach_host, delivery);
    }
    return sent;
}

static ssize_t socket_read(struct file *file, void *bytes, size_t count) { return socket_receive(file, bytes, count, 0); }
static ssize_t socket_write(struct file *file, const void *bytes, size_t count) { return socket_send(file, bytes, count, 0); }

static void send_end(struct connection *c) {
    if (c->state != connection_open || c->is_broken || c->is_shut_down) return;
    c->is_shut_down = true;
    // As the kernel does if a socket is closed with unread bytes.
    c->resets_host = c->file == NULL && length(&c->received) > 0;
    c->events++;
    kernel_at(travel(c, &c->last_departure), end_at_host, c);
}

static void socket_close(struct file *file) {
    struct connection *c = file->state;
    c->file = NULL;
    if (c->state == connection_open) {
        kernel_note("connection %d is closed", c->number);
        send_end(c);
        c->events++;
        kernel_at(simulation_now() + 60 * 1000000000LL, forget_at_host, c);
    } else {
        c->host = NULL;
    }
    release_if_unused(c);
}

static int tcp_connect(struct file *file, const struct sockaddr *address, socklen_t size) {
    struct connection *c = file->state;
    if (c->state == connection_connects) return (int)fail_with(EALREADY);
    if (c->state == connection_open) return (int)fail_with(EISCONN);
    if (address->sa_family != c->family) return (int)fail_with(EAFNOSUPPORT);
    if (!kernel_read_address(address, &c->address, &c->port)) return (int)fail_with(ENETUNREACH);
    c->own = kernel_own_address(c->family);
    c->local_port = ports++;
    if (ports < 40000) ports = 40000;
    c->link = link_to(c->address);
    c->bytes_to_break = c->link.breaks_after;
    c->bytes_to_silence = c->link.silent_after;
    c->host = host_at(c->address, c->port);
    c->state = connection_connects;
    kernel_note("connection %d to %llx:%d", c->number, (unsigned long long)c->address, c->port);
    c->events += 2;
    // There and back.
    travel(c, &c->last_arrival);
    kernel_at(travel(c, &c->last_arrival), connected, c);
    kernel_at(simulation_now() + 127 * 1000000000LL, connecting_ends, c);
    if (!file->is_blocking) return (int)fail_with(EINPROGRESS);
    kernel_wait_for_file(file, EPOLLOUT, "connect");
    return c->error == 0 ? 0 : (int)take_error(c);
}

static int tcp_shut_down(struct file *file, int how) {
    struct connection *c = file->state;
    kernel_step("shutdown");
    if (c->state != connection_open) return (int)fail_with(ENOTCONN);
    if (how != SHUT_RD) send_end(c);
    if (how != SHUT_WR) c->has_fin = true;
    changed(c);
    return 0;
}

static int tcp_option(struct file *file, int level, int option, void *value, socklen_t *size) {
    struct connection *c = file->state;
    if (level == SOL_SOCKET && option == SO_ERROR) {
        *(int *)value = c->error;
        c->error = 0;
        return 0;
    }
    if (level == IPPROTO_TCP && option == TCP_INFO) {
        // As in linux/tcp.h: 8 octets, 24 numbers, two rates, then the acknowledged bytes.
        struct { uint8_t bits[8]; uint32_t numbers[24]; uint64_t rates[2], acknowledged; } information = { 0 };
        information.acknowledged = c->taken;
        *size = (socklen_t)minimum(*size, sizeof information);
        memcpy(value, &information, *size);
        return 0;
    }
    if (level == SOL_SOCKET || level == IPPROTO_TCP) {
        memset(value, 0, *size);
        return 0;
    }
    return (int)fail_with(ENOPROTOOPT);
}

static int tcp_own_name(struct file *file, struct sockaddr *address, socklen_t *size) {
    struct connection *c = file->state;
    simulation_address none = c->family == AF_INET6 ? simulation_ipv6 : 0;
    *size = kernel_write_address(address, *size, c->own != 0 ? c->own : none, c->local_port);
    return 0;
}

static int tcp_peer_name(struct file *file, struct sockaddr *address, socklen_t *size) {
    struct connection *c = file->state;
    if (c->state != connection_open) return (int)fail_with(ENOTCONN);
    *size = kernel_write_address(address, *size, c->address, c->port);
    return 0;
}

static const struct socket_calls tcp_calls = {
    .connect = tcp_connect, .receive = socket_receive, .send = socket_send, .shut_down = tcp_shut_down, .option = tcp_option,
    .own_name = tcp_own_name, .peer_name = tcp_peer_name,
};
static const struct file_kind socket_kind = {
    .name = "socket", .readiness = socket_readiness, .read = socket_read, .write = socket_write, .close = socket_close,
    .calls = &tcp_calls,
};

int tcp_socket(int family, bool is_blocking) {
    struct connection *c = calloc(1, sizeof *c);
    c->number = ++connection_numbers;
    c->family = family;
    c->host_was_told = true;
    c->next = connections;
    connections = c;
    int descriptor = kernel_add_file(&socket_kind, c, is_blocking);
    c->file = kernel_file(descriptor);
    return descriptor;
}

static struct connection *connection_of(int descriptor) {
    struct file *file = kernel_is_simulated() ? kernel_file(descriptor) : NULL;
    return file != NULL && file->kind == &socket_kind ? file->state : NULL;
}

// From a pipe of the real kernel.
static ssize_t splice_to_socket(int pipe, struct connection *c, size_t count) {
    struct file *file = kernel_called("splice", pipe);
    if (file != NULL || c->file == NULL) return fail_with(EINVAL);
    int64_t room = c->link.send_buffer - c->outbound;
    if (c->error != 0 || c->is_broken || c->state != connection_open || room <= 0) {
        return socket_send(c->file, "", 1, MSG_DONTWAIT);
    }
    uint8_t bytes[65536];
    ssize_t taken = REAL(read)(pipe, bytes, (size_t)minimum(minimum((int64_t)count, room), sizeof bytes));
    return taken <= 0 ? taken : socket_send(c->file, bytes, (size_t)taken, MSG_DONTWAIT);
}

ssize_t splice(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t count, unsigned flags) {
    struct connection *c = connection_of(from);
    struct connection *target = connection_of(to);
    if (target != NULL) return splice_to_socket(from, target, count);
    if (c == NULL) return disk_splice(from, from_offset, to, to_offset, count, flags);
    kernel_step("splice");
    if (length(&c->received) == 0) return socket_receive(c->file, NULL, 0, (flags & SPLICE_F_NONBLOCK) ? MSG_DONTWAIT : 0);
    // Into a pipe of the real kernel.
    ssize_t taken = REAL(write)(to, c->received.start + c->received.first, (size_t)minimum(length(&c->received), (int64_t)count));
    if (taken > 0) c->received.first += taken;
    send_unsent(c);
    return taken;
}

int ioctl(int descriptor, unsigned long request, ...) {
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    struct connection *c = connection_of(descriptor);
    // The disk shares no blocks between files.
    if (request == FICLONE && kernel_is_simulated()) return (int)fail_with(EOPNOTSUPP);
    if (c == NULL) return REAL(ioctl)(descriptor, request, argument);
    switch (request) {
    case FIONREAD: *(int *)argument = (int)length(&c->received); return 0;
    case SIOCOUTQ: *(int *)argument = (int)c->outbound; return 0;
    default: return (int)fail_with(ENOTTY);
    }
}
