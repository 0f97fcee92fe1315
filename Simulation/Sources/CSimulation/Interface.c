// The machine's network interface: its addresses, which come and go, and the netlink sockets that report them.
#include "Sockets.h"
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/epoll.h>

// 0 for none.
static simulation_address own_ipv4 = 0x0A000001, own_ipv6;

simulation_address kernel_own_address(int family) { return family == AF_INET6 ? own_ipv6 : own_ipv4; }
bool kernel_has_address(simulation_address address) { return address != 0 && (address == own_ipv4 || address == own_ipv6); }
bool kernel_has_network(void) { return own_ipv4 != 0 || own_ipv6 != 0; }

// ---- netlink

// The messages are empty: their receiver reads the current state.
struct listener {
    struct file *file;
    int unread;
    // Messages were dropped, because earlier ones are unread.
    bool has_lost;
    struct listener *next;
};
static struct listener *listeners;

void simulation_set_network(simulation_address ipv4, simulation_address ipv6) {
    if (ipv4 == own_ipv4 && ipv6 == own_ipv6) return;
    own_ipv4 = ipv4;
    own_ipv6 = ipv6;
    kernel_note("the machine's addresses are %llx and %llx", (unsigned long long)ipv4, (unsigned long long)ipv6);
    for (struct listener *listener = listeners; listener != NULL; listener = listener->next) {
        listener->unread += 1 + (int)simulation_random(3);
        if (simulation_random(8) == 0) listener->has_lost = true;
        kernel_file_changed(listener->file);
    }
}

static uint32_t readiness(struct file *file) {
    struct listener *listener = file->state;
    return listener->unread > 0 || listener->has_lost ? EPOLLIN : 0;
}

static ssize_t receive(struct file *file, void *bytes, size_t count, int flags) {
    struct listener *listener = file->state;
    if (listener->has_lost) {
        listener->has_lost = false;
        return fail_with(ENOBUFS);
    }
    if (listener->unread == 0) return fail_with(EAGAIN);
    listener->unread--;
    const size_t length = 32;
    if (count > length) count = length;
    memset(bytes, 0, count);
    return (ssize_t)count;
}

static ssize_t send_request(struct file *file, const void *bytes, size_t count, int flags) { return (ssize_t)count; }
static ssize_t read_message(struct file *file, void *bytes, size_t count) { return receive(file, bytes, count, 0); }
static ssize_t write_request(struct file *file, const void *bytes, size_t count) { return (ssize_t)count; }

static void close_listener(struct file *file) {
    struct listener **link = &listeners;
    while (*link != file->state) link = &(*link)->next;
    *link = (*link)->next;
    free(file->state);
}

static const struct socket_calls calls = { .receive = receive, .send = send_request };
static const struct file_kind kind = {
    .name = "netlink", .readiness = readiness, .read = read_message, .write = write_request, .close = close_listener,
    .calls = &calls,
};

int netlink_socket(bool is_blocking) {
    struct listener *listener = calloc(1, sizeof *listener);
    listener->next = listeners;
    listeners = listener;
    int descriptor = kernel_add_file(&kind, listener, is_blocking);
    listener->file = kernel_file(descriptor);
    return descriptor;
}

// ---- lists of addresses

struct interface { struct ifaddrs entry; struct sockaddr_in6 address, mask; };

static void fill(struct interface *interface, simulation_address address, simulation_address mask) {
    kernel_write_address((struct sockaddr *)&interface->address, sizeof interface->address, address, 0);
    kernel_write_address((struct sockaddr *)&interface->mask, sizeof interface->mask, mask, 0);
    interface->entry = (struct ifaddrs){
        .ifa_name = "sim0", .ifa_flags = IFF_UP | IFF_RUNNING, .ifa_addr = (struct sockaddr *)&interface->address,
        .ifa_netmask = (struct sockaddr *)&interface->mask,
    };
}

int getifaddrs(struct ifaddrs **result) {
    if (!kernel_is_simulated()) return REAL(getifaddrs)(result);
    kernel_step("getifaddrs");
    *result = NULL;
    if (!kernel_has_network()) return 0;
    // One entry for each family.
    struct interface *interfaces = calloc(2, sizeof *interfaces), *next = interfaces;
    if (own_ipv4 != 0) fill(next++, own_ipv4, 0xFF000000);
    if (own_ipv6 != 0) {
        fill(next, own_ipv6, simulation_ipv6);
        const size_t length_of_prefix = 12;
        memset(next->mask.sin6_addr.s6_addr, 0xFF, length_of_prefix);
        if (next != interfaces) interfaces->entry.ifa_next = &next->entry;
    }
    *result = &interfaces->entry;
    return 0;
}

void freeifaddrs(struct ifaddrs *first) {
    if (kernel_is_simulated()) free(first);
    else REAL(freeifaddrs)(first);
}

unsigned if_nametoindex(const char *name) {
    if (!kernel_is_simulated()) return REAL(if_nametoindex)(name);
    return strcmp(name, "sim0") == 0 ? 2 : 0;
}
