// UDP between the process and simulated hosts.
#include "Sockets.h"
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <sys/epoll.h>

// Of a message that becomes several datagrams, and of one that several became. As in the kernel.
enum { most_segments = 64, longest_message = 65507 };
// Of Ethernet, without the heads of IP and UDP.
enum { longest_over_ipv4 = 1472, longest_over_ipv6 = 1452 };

// ---- hosts and paths

struct host {
    simulation_address address;
    uint16_t port;
    simulation_datagram_listener listener;
    struct host *next;
};
struct path { simulation_address address; simulation_datagram_path path; bool has_path, is_silent; struct path *next; };
static struct host *hosts;
static struct path *paths;

static struct host *host_at(simulation_address address, uint16_t port) {
    for (struct host *host = hosts; host != NULL; host = host->next) {
        if (host->address == address && host->port == port) return host;
    }
    return NULL;
}

void simulation_listen_datagrams(simulation_address address, uint16_t port, simulation_datagram_listener listener) {
    struct host *host = calloc(1, sizeof *host);
    *host = (struct host){ address, port, listener, hosts };
    hosts = host;
}

static struct path *path_to(simulation_address address, bool makes) {
    for (struct path *path = paths; path != NULL; path = path->next) if (path->address == address) return path;
    if (!makes) return NULL;
    struct path *path = calloc(1, sizeof *path);
    path->address = address;
    path->next = paths;
    return paths = path;
}

void simulation_set_datagram_path(simulation_address address, simulation_datagram_path wanted) {
    struct path *path = path_to(address, true);
    path->path = wanted;
    path->has_path = true;
}

void simulation_set_datagrams_pass(simulation_address address, bool pass) {
    path_to(address, true)->is_silent = !pass;
    kernel_note("datagrams %s host %llx", pass ? "pass to" : "do not pass to", (unsigned long long)address);
}

static simulation_datagram_path values_of(simulation_address address) {
    struct path *path = path_to(address, false);
    if (path != NULL && path->has_path) return path->path;
    return (simulation_datagram_path){
        .latency = 1000000, .longest_datagram = longest_over_ipv4, .send_buffer = 256 * 1024, .receive_buffer = 128 * 1024,
        .octets_per_millisecond = 100000, .cuts_messages = true,
    };
}

static bool passes(simulation_address address) {
    struct path *path = path_to(address, false);
    return network_is_reachable(address) && (path == NULL || !path->is_silent);
}

// ---- a socket

struct datagram {
    struct datagram *next;
    // Of the host, and of the process.
    simulation_address address;
    uint16_t port, own_port;
    uint8_t mark;
    int64_t count;
    uint8_t bytes[];
};

struct direction { simulation_time last, last_departure; int lost_in_a_row; };

struct endpoint {
    int number;
    struct file *file;
    int family;
    simulation_address address, own; // 0 before connect
    uint16_t port, own_port; // 0 before connect, before bind or connect
    bool merges, reports_marks;
    struct datagram *first, **end;
    int64_t received, outbound; // octets that are held
    // A message did not fit: room for the next one is an edge.
    bool wants_room;
    simulation_time last_departure;
    struct direction to_host, from_host;
    int error; // reported once
    struct endpoint *next;
};

static struct endpoint *endpoints;
static int endpoint_numbers;
static uint16_t ports = 50000;

int datagrams_open_sockets(void) {
    int count = 0;
    for (struct endpoint *e = endpoints; e != NULL; e = e->next) count++;
    return count;
}

static bool is_ipv6(simulation_address address) { return address >= simulation_ipv6; }

static struct endpoint *endpoint_at(uint16_t own_port, simulation_address host) {
    for (struct endpoint *e = endpoints; e != NULL; e = e->next) {
        if (e->own_port == own_port && (e->family == AF_INET6) == is_ipv6(host)) return e;
    }
    return NULL;
}

static struct endpoint *endpoint_numbered(int number) {
    for (struct endpoint *e = endpoints; e != NULL; e = e->next) if (e->number == number) return e;
    return NULL;
}

static simulation_address own_address(struct endpoint *e) { return e->own != 0 ? e->own : kernel_own_address(e->family); }

static void take_port(struct endpoint *e) {
    if (e->own_port != 0) return;
    e->own_port = ports++;
    if (ports < 50000) ports = 50000;
}

static ssize_t take_error(struct endpoint *e) {
    int error = e->error;
    e->error = 0;
    return fail_with(error);
}

// The kernel says that a socket takes a message when half of its buffer is free.
static bool has_room(struct endpoint *e) { return e->outbound * 2 <= values_of(e->address).send_buffer; }

static uint32_t readiness(struct file *file) {
    struct endpoint *e = file->state;
    return (e->first != NULL ? EPOLLIN : 0) | (has_room(e) ? EPOLLOUT : 0) | (e->error != 0 ? EPOLLERR : 0);
}

// ---- on the way

// For the trace, so that two runs are equal only if the keys of QUIC are.
static unsigned sum_of(const uint8_t *bytes, int64_t count) {
    uint32_t sum = 2166136261u;
    for (int64_t i = 0; i < count; i++) sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

static bool in_a_thousand(int32_t count) { return count > 0 && (int32_t)simulation_random(1000) < count; }

static bool is_lost(simulation_datagram_path path, struct direction *direction, int64_t count, simulation_time departure) {
    simulation_time before = direction->last_departure;
    direction->last_departure = departure;
    if (count > path.longest_datagram) return true;
    if (path.longest_silence > 0 && before > 0 && departure > before + path.longest_silence) return true;
    if (!in_a_thousand(path.losses) || direction->lost_in_a_row >= path.most_losses_in_a_row) {
        direction->lost_in_a_row = 0;
        return false;
    }
    direction->lost_in_a_row++;
    return true;
}

// One that is late is overtaken by others.
static simulation_time arrival(simulation_datagram_path path, struct direction *direction, simulation_time departure) {
    simulation_time date = departure + path.latency + (simulation_time)simulation_random((uint64_t)path.jitter + 1);
    if (in_a_thousand(path.delays)) return date + 1000000 + (simulation_time)simulation_random((uint64_t)path.latency * 2 + 1);
    if (date <= direction->last) date = direction->last + 1;
    return direction->last = date;
}

// Takes the datagram. It arrives as often as the path wants.
static void travel(
    struct datagram *datagram, struct direction *direction, simulation_time departure, void (*arrive)(void *context)) {
    simulation_datagram_path path = values_of(datagram->address);
    if (is_lost(path, direction, datagram->count, departure)) {
        kernel_note("a datagram of %lld bytes is lost", (long long)datagram->count);
        free(datagram);
        return;
    }
    // A router that has a long queue says so to those that understand it (RFC 3168).
    if ((datagram->mark & 3) != 0 && in_a_thousand(path.marks)) datagram->mark |= 3;
    if (in_a_thousand(path.duplicates)) {
        struct datagram *copy = malloc(sizeof *copy + (size_t)datagram->count);
        memcpy(copy, datagram, sizeof *copy + (size_t)datagram->count);
        kernel_at(arrival(path, direction, departure), arrive, copy);
    }
    kernel_at(arrival(path, direction, departure), arrive, datagram);
}

static struct datagram *new_datagram(
    simulation_address address, uint16_t port, uint16_t own_port, const void *bytes, int64_t count, uint8_t mark) {
    struct datagram *datagram = malloc(sizeof *datagram + (size_t)count);
    *datagram = (struct datagram){ NULL, address, port, own_port, mark, count };
    memcpy(datagram->bytes, bytes, (size_t)count);
    return datagram;
}

// ---- from a host

static void arrive(void *context) {
    struct datagram *datagram = context;
    struct endpoint *e = endpoint_at(datagram->own_port, datagram->address);
    bool is_for_it = e != NULL && (e->port == 0 || (e->address == datagram->address && e->port == datagram->port));
    if (!is_for_it || !passes(datagram->address) || !kernel_has_address(own_address(e))) {
        free(datagram);
        return;
    }
    if (e->received + datagram->count > values_of(datagram->address).receive_buffer) {
        kernel_note("socket %d has no room for a datagram of %lld bytes", e->number, (long long)datagram->count);
        free(datagram);
        return;
    }
    kernel_note("socket %d: a datagram of %lld bytes arrives, sum %08x", e->number, (long long)datagram->count,
        sum_of(datagram->bytes, datagram->count));
    e->received += datagram->count;
    *e->end = datagram;
    e->end = &datagram->next;
    kernel_file_changed(e->file);
}

void simulation_send_datagram(
    simulation_address address, uint16_t port, uint16_t to, const void *bytes, int64_t count, uint8_t mark) {
    struct endpoint *e = endpoint_at(to, address);
    if (e == NULL) return;
    struct datagram *datagram = new_datagram(address, port, to, bytes, count, mark);
    travel(datagram, &e->from_host, simulation_now(), arrive);
}

// ---- to a host

static void arrive_refusal(void *context) {
    struct datagram *datagram = context;
    struct endpoint *e = endpoint_at(datagram->own_port, datagram->address);
    // A socket that is not connected gets no error.
    if (e != NULL && e->port == datagram->port && e->address == datagram->address && passes(datagram->address)) {
        kernel_note("socket %d: the port is closed", e->number);
        e->error = ECONNREFUSED;
        kernel_file_changed(e->file);
    }
    free(datagram);
}

static void reach_host(void *context) {
    struct datagram *datagram = context;
    struct endpoint *e = endpoint_at(datagram->own_port, datagram->address);
    bool has_left = e == NULL || kernel_has_address(own_address(e));
    // The kernel keeps the error that a router sends for an unreachable host from UDP sockets without IP_RECVERR.
    if (!has_left || !passes(datagram->address) || network_error(datagram->address) != 0) {
        free(datagram);
        return;
    }
    struct host *host = host_at(datagram->address, datagram->port);
    if (host == NULL) {
        kernel_at(simulation_now() + values_of(datagram->address).latency, arrive_refusal, datagram);
        return;
    }
    kernel_note("a datagram of %lld bytes reaches its host, sum %08x", (long long)datagram->count,
        sum_of(datagram->bytes, datagram->count));
    host->listener.received(
        host->listener.context, datagram->own_port, datagram->bytes, datagram->count, datagram->mark & 3);
    free(datagram);
}

struct departure { int number; int64_t count; };

static void depart(void *context) {
    struct departure *departure = context;
    struct endpoint *e = endpoint_numbered(departure->number);
    if (e != NULL) {
        e->outbound -= departure->count;
        if (e->wants_room && has_room(e)) {
            e->wants_room = false;
            kernel_file_changed(e->file);
        }
    }
    free(departure);
}

// Control messages of one that is sent.
static void read_control(const struct msghdr *message, int64_t *segment, uint8_t *mark) {
    for (struct cmsghdr *next = CMSG_FIRSTHDR(message); next != NULL; next = CMSG_NXTHDR((struct msghdr *)message, next)) {
        bool is_mark = (next->cmsg_level == IPPROTO_IP && next->cmsg_type == IP_TOS)
            || (next->cmsg_level == IPPROTO_IPV6 && next->cmsg_type == IPV6_TCLASS);
        if (is_mark) {
            *mark = *CMSG_DATA(next);
        } else if (next->cmsg_level == SOL_UDP && next->cmsg_type == UDP_SEGMENT) {
            uint16_t size;
            memcpy(&size, CMSG_DATA(next), sizeof size);
            *segment = size;
        }
    }
}

static int64_t length_of(const struct msghdr *message) {
    int64_t count = 0;
    for (size_t i = 0; i < message->msg_iovlen; i++) count += (int64_t)message->msg_iov[i].iov_len;
    return count;
}

static ssize_t send_datagrams(struct file *file, const struct msghdr *message, int flags) {
    struct endpoint *e = file->state;
    if (e->error != 0) return take_error(e);
    simulation_address address = e->address;
    uint16_t port = e->port;
    if (message->msg_name != NULL && !kernel_read_address(message->msg_name, &address, &port)) return fail_with(ENETUNREACH);
    if (port == 0) return fail_with(EDESTADDRREQ);
    if (kernel_own_address(e->family) == 0) return fail_with(ENETUNREACH);
    // As the kernel looks for a route from an address that is gone.
    if (!kernel_has_address(own_address(e)) && e->family == AF_INET) return fail_with(EINVAL);
    int64_t count = length_of(message), segment = 0;
    uint8_t mark = 0;
    read_control(message, &segment, &mark);
    simulation_datagram_path path = values_of(address);
    int64_t longest = is_ipv6(address) ? longest_over_ipv6 : longest_over_ipv4;
    if (segment > 0 && !path.cuts_messages) return fail_with(EIO);
    if (segment > 0 && (segment > longest || count > segment * most_segments)) return fail_with(EINVAL);
    if (segment == 0) segment = count;
    if (segment > longest || count > longest_message) return fail_with(EMSGSIZE);
    bool blocks = file->is_blocking && (flags & MSG_DONTWAIT) == 0;
    while (e->outbound >= path.send_buffer) {
        e->wants_room = true;
        if (!blocks) return fail_with(EAGAIN);
        kernel_wait_for_file(file, EPOLLOUT, "sendmsg");
    }
    take_port(e);
    uint8_t *bytes = malloc((size_t)count + 1), *end = bytes;
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        memcpy(end, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
        end += message->msg_iov[i].iov_len;
    }
    kernel_note("socket %d sends %lld bytes to %llx:%d", e->number, (long long)count, (unsigned long long)address, port);
    e->outbound += count;
    simulation_time departure = e->last_departure > simulation_now() ? e->last_departure : simulation_now();
    int64_t first = 0;
    do {
        int64_t part = count - first < segment ? count - first : segment;
        departure += part * 1000000 / path.octets_per_millisecond;
        travel(new_datagram(address, port, e->own_port, bytes + first, part, mark), &e->to_host, departure, reach_host);
        first += part;
    } while (first < count);
    e->last_departure = departure;
    struct departure *last = malloc(sizeof *last);
    *last = (struct departure){ e->number, count };
    kernel_at(departure, depart, last);
    free(bytes);
    return (ssize_t)count;
}

// ---- receiving

static void add_control(struct msghdr *message, size_t capacity, int level, int type, const void *value, size_t count) {
    size_t used = message->msg_controllen;
    if (message->msg_control == NULL || used + CMSG_SPACE(count) > capacity) {
        message->msg_flags |= MSG_CTRUNC;
        return;
    }
    struct cmsghdr *next = (struct cmsghdr *)((char *)message->msg_control + used);
    memset(next, 0, CMSG_SPACE(count));
    next->cmsg_level = level;
    next->cmsg_type = type;
    next->cmsg_len = CMSG_LEN(count);
    memcpy(CMSG_DATA(next), value, count);
    message->msg_controllen = used + CMSG_SPACE(count);
}

// Those of one size, from one host, with one mark, the last of which may be shorter: the kernel puts together what came at once.
static int joined(struct endpoint *e) {
    int count = 1;
    int64_t octets = e->first->count;
    for (struct datagram *last = e->first; e->merges && last->next != NULL && count < most_segments; last = last->next) {
        struct datagram *next = last->next;
        bool is_alike = next->address == last->address && next->port == last->port && next->mark == last->mark;
        if (!is_alike || last->count < e->first->count || next->count > e->first->count || next->count == 0) break;
        if ((octets += next->count) > longest_message || simulation_random(8) == 0) break;
        count++;
    }
    return count;
}

static void put(struct msghdr *message, int64_t place, const uint8_t *bytes, int64_t count) {
    for (size_t i = 0; i < message->msg_iovlen && count > 0; i++) {
        int64_t capacity = (int64_t)message->msg_iov[i].iov_len;
        if (place < capacity) {
            int64_t part = count < capacity - place ? count : capacity - place;
            memcpy((uint8_t *)message->msg_iov[i].iov_base + place, bytes, (size_t)part);
            bytes += part;
            count -= part;
            place += part;
        }
        place -= capacity;
    }
}

static ssize_t receive_datagrams(struct file *file, struct msghdr *message, int flags) {
    struct endpoint *e = file->state;
    bool blocks = file->is_blocking && (flags & MSG_DONTWAIT) == 0;
    for (;;) {
        if (e->error != 0) return take_error(e);
        if (e->first != NULL) break;
        if (!blocks) return fail_with(EAGAIN);
        kernel_wait_for_file(file, EPOLLIN, "recvmsg");
    }
    size_t control_capacity = message->msg_controllen;
    int64_t capacity = length_of(message), total = 0;
    int size = (int)e->first->count, count = joined(e);
    uint8_t mark = e->first->mark & 3;
    if (message->msg_name != NULL) {
        message->msg_namelen = kernel_write_address(message->msg_name, message->msg_namelen, e->first->address, e->first->port);
    }
    for (int i = 0; i < count; i++) {
        struct datagram *datagram = e->first;
        put(message, total, datagram->bytes, datagram->count);
        total += datagram->count;
        e->received -= datagram->count;
        e->first = datagram->next;
        free(datagram);
    }
    if (e->first == NULL) e->end = &e->first;
    kernel_note("socket %d: reads %d datagrams, %lld bytes", e->number, count, (long long)total);
    message->msg_controllen = 0;
    message->msg_flags = total > capacity ? MSG_TRUNC : 0;
    if (count > 1) add_control(message, control_capacity, SOL_UDP, UDP_GRO, &size, sizeof size);
    if (e->reports_marks && e->family == AF_INET6) {
        int value = mark;
        add_control(message, control_capacity, IPPROTO_IPV6, IPV6_TCLASS, &value, sizeof value);
    } else if (e->reports_marks) {
        add_control(message, control_capacity, IPPROTO_IP, IP_TOS, &mark, sizeof mark);
    }
    return (ssize_t)(total < capacity ? total : capacity);
}

// ---- the file

static ssize_t read_file(struct file *file, void *bytes, size_t count) {
    struct iovec part = { bytes, count };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    return receive_datagrams(file, &message, 0);
}

static ssize_t write_file(struct file *file, const void *bytes, size_t count) {
    struct iovec part = { (void *)bytes, count };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    return send_datagrams(file, &message, 0);
}

static void close_file(struct file *file) {
    struct endpoint *e = file->state, **link = &endpoints;
    while (*link != e) link = &(*link)->next;
    *link = e->next;
    for (struct datagram *datagram = e->first, *next; datagram != NULL; datagram = next) {
        next = datagram->next;
        free(datagram);
    }
    free(e);
}

static int bind_to(struct file *file, const struct sockaddr *address, socklen_t size) {
    struct endpoint *e = file->state;
    // The port is at the same place in addresses of both families.
    uint16_t port = ntohs(((const struct sockaddr_in *)address)->sin_port);
    if (port != 0 && endpoint_at(port, e->family == AF_INET6 ? simulation_ipv6 : 0) != NULL) return (int)fail_with(EADDRINUSE);
    e->own_port = port;
    take_port(e);
    return 0;
}

static int connect_to(struct file *file, const struct sockaddr *address, socklen_t size) {
    struct endpoint *e = file->state;
    if (address->sa_family != e->family) return (int)fail_with(EAFNOSUPPORT);
    simulation_address host;
    uint16_t port;
    kernel_read_address(address, &host, &port);
    if (kernel_own_address(e->family) == 0) return (int)fail_with(ENETUNREACH);
    e->own = kernel_own_address(e->family);
    e->address = host;
    e->port = port;
    take_port(e);
    return 0;
}

static int set_option(struct file *file, int level, int option, const void *place, socklen_t size) {
    struct endpoint *e = file->state;
    if (size != sizeof(int)) return 0;
    int value = *(const int *)place;
    if (level == SOL_UDP && option == UDP_GRO) e->merges = value != 0;
    if (level == IPPROTO_IP && option == IP_RECVTOS) e->reports_marks = value != 0;
    if (level == IPPROTO_IPV6 && option == IPV6_RECVTCLASS) e->reports_marks = value != 0;
    return 0;
}

static int own_name(struct file *file, struct sockaddr *address, socklen_t *size) {
    struct endpoint *e = file->state;
    simulation_address none = e->family == AF_INET6 ? simulation_ipv6 : 0;
    *size = kernel_write_address(address, *size, e->own != 0 ? e->own : none, e->own_port);
    return 0;
}

static const struct socket_calls calls = {
    .bind = bind_to, .connect = connect_to, .receive_message = receive_datagrams, .send_message = send_datagrams,
    .set_option = set_option, .own_name = own_name,
};
static const struct file_kind kind = {
    .name = "datagrams", .readiness = readiness, .read = read_file, .write = write_file, .close = close_file, .calls = &calls,
};

int datagrams_socket(int family, bool is_blocking) {
    struct endpoint *e = calloc(1, sizeof *e);
    e->number = ++endpoint_numbers;
    e->family = family;
    e->end = &e->first;
    e->next = endpoints;
    endpoints = e;
    int descriptor = kernel_add_file(&kind, e, is_blocking);
    e->file = kernel_file(descriptor);
    return descriptor;
}

// ---- the other calls, by those for messages

ssize_t sendto(
    int descriptor, const void *bytes, size_t count, int flags, const struct sockaddr *address, socklen_t size) {
    if (!kernel_is_simulated() || kernel_file(descriptor) == NULL) {
        return REAL(sendto)(descriptor, bytes, count, flags, address, size);
    }
    struct iovec part = { (void *)bytes, count };
    struct msghdr message = { .msg_name = (void *)address, .msg_namelen = size, .msg_iov = &part, .msg_iovlen = 1 };
    return sendmsg(descriptor, &message, flags);
}

ssize_t recvfrom(
    int descriptor, void *restrict bytes, size_t count, int flags, struct sockaddr *restrict address,
    socklen_t *restrict size) {
    if (!kernel_is_simulated() || kernel_file(descriptor) == NULL) {
        return REAL(recvfrom)(descriptor, bytes, count, flags, address, size);
    }
    struct iovec part = { bytes, count };
    struct msghdr message = { .msg_name = address, .msg_namelen = size != NULL ? *size : 0, .msg_iov = &part, .msg_iovlen = 1 };
    ssize_t received = recvmsg(descriptor, &message, flags);
    if (size != NULL) *size = message.msg_namelen;
    return received;
}

int sendmmsg(int descriptor, struct mmsghdr *messages, unsigned count, int flags) {
    if (!kernel_is_simulated() || kernel_file(descriptor) == NULL) return REAL(sendmmsg)(descriptor, messages, count, flags);
    for (unsigned i = 0; i < count; i++) {
        ssize_t sent = sendmsg(descriptor, &messages[i].msg_hdr, flags);
        if (sent < 0) return i > 0 ? (int)i : -1;
        messages[i].msg_len = (unsigned)sent;
    }
    return (int)count;
}

int recvmmsg(int descriptor, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout) {
    if (!kernel_is_simulated() || kernel_file(descriptor) == NULL) {
        return REAL(recvmmsg)(descriptor, messages, count, flags, timeout);
    }
    for (unsigned i = 0; i < count; i++) {
        ssize_t received = recvmsg(descriptor, &messages[i].msg_hdr, i > 0 ? flags | MSG_DONTWAIT : flags);
        if (received < 0) return i > 0 ? (int)i : -1;
        messages[i].msg_len = (unsigned)received;
    }
    return (int)count;
}
