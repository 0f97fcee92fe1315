// Names of hosts, and how addresses are written.
#include "Kernel.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdio.h>

// fd00::/96
static const uint8_t prefix[12] = { 0xFD };

static bool is_ipv6(simulation_address address) { return address >= simulation_ipv6; }

bool kernel_read_address(const struct sockaddr *address, simulation_address *found, uint16_t *port) {
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *target = (const struct sockaddr_in *)address;
        *found = ntohl(target->sin_addr.s_addr);
        *port = ntohs(target->sin_port);
        return kernel_own_address(AF_INET) != 0;
    }
    const struct sockaddr_in6 *target = (const struct sockaddr_in6 *)address;
    uint32_t last;
    memcpy(&last, &target->sin6_addr.s6_addr[12], sizeof last);
    *found = simulation_ipv6 + ntohl(last);
    *port = ntohs(target->sin6_port);
    return kernel_own_address(AF_INET6) != 0 && memcmp(&target->sin6_addr, prefix, sizeof prefix) == 0;
}

static struct sockaddr_in ipv4_address(simulation_address host, uint16_t port) {
    return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { htonl((uint32_t)host) } };
}

static struct sockaddr_in6 ipv6_address(simulation_address host, uint16_t port) {
    struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    uint32_t last = htonl((uint32_t)host);
    memcpy(&address.sin6_addr, prefix, sizeof prefix);
    memcpy(&address.sin6_addr.s6_addr[12], &last, sizeof last);
    return address;
}

unsigned kernel_write_address(struct sockaddr *address, unsigned capacity, simulation_address host, uint16_t port) {
    struct sockaddr_in ipv4 = ipv4_address(host, port);
    struct sockaddr_in6 ipv6 = ipv6_address(host, port);
    unsigned size = is_ipv6(host) ? sizeof ipv6 : sizeof ipv4;
    memcpy(address, is_ipv6(host) ? (void *)&ipv6 : (void *)&ipv4, capacity < size ? capacity : size);
    return size;
}

struct name { char text[256]; simulation_address address; simulation_time delay; struct name *next; };
static struct name *names;

void simulation_add_name(const char *text, simulation_address address, simulation_time delay) {
    struct name *name = calloc(1, sizeof *name);
    strncpy(name->text, text, sizeof name->text - 1);
    name->address = address;
    name->delay = delay;
    name->next = names;
    names = name;
}

void simulation_change_name(const char *text, simulation_address from, simulation_address to) {
    for (struct name *name = names; name != NULL; name = name->next) {
        if (name->address == from && strcasecmp(name->text, text) == 0) name->address = to;
    }
    kernel_note("%s is at %llx, no more at %llx", text, (unsigned long long)to, (unsigned long long)from);
}

static struct addrinfo *information(simulation_address address, uint16_t port, int type, const char *canonical) {
    struct addrinfo *found = calloc(1, sizeof *found + sizeof(struct sockaddr_in6));
    found->ai_family = is_ipv6(address) ? AF_INET6 : AF_INET;
    found->ai_socktype = type;
    found->ai_protocol = type == SOCK_DGRAM ? IPPROTO_UDP : IPPROTO_TCP;
    found->ai_addr = (struct sockaddr *)(found + 1);
    found->ai_addrlen = kernel_write_address(found->ai_addr, sizeof(struct sockaddr_in6), address, port);
    if (canonical != NULL) found->ai_canonname = strdup(canonical);
    return found;
}

static int waiting;

int getaddrinfo(const char *restrict host, const char *restrict service, const struct addrinfo *restrict hints,
    struct addrinfo **restrict result) {
    if (!kernel_is_simulated()) return REAL(getaddrinfo)(host, service, hints, result);
    int type = hints != NULL && hints->ai_socktype != 0 ? hints->ai_socktype : SOCK_STREAM;
    uint16_t port = service == NULL ? 0 : (uint16_t)atoi(service);
    const char *canonical = hints != NULL && (hints->ai_flags & AI_CANONNAME) ? host : NULL;
    *result = NULL;
    int family = hints != NULL ? hints->ai_family : AF_UNSPEC;
    struct in_addr literal;
    if (host != NULL && inet_pton(AF_INET, host, &literal) == 1) {
        if (family == AF_INET6) return EAI_NONAME;
        *result = information(ntohl(literal.s_addr), port, type, canonical);
        return 0;
    }
    if (hints != NULL && (hints->ai_flags & AI_NUMERICHOST)) return EAI_NONAME;
    kernel_note("asks for the addresses of %s (family %d)", host == NULL ? "this machine" : host, family);
    simulation_time most = 50 * 1000000;
    for (struct name *name = names; name != NULL; name = name->next) {
        bool is_asked = host != NULL && strcasecmp(name->text, host) == 0;
        if (is_asked && (family == AF_UNSPEC || (family == AF_INET6) == is_ipv6(name->address))) most = name->delay;
    }
    simulation_time until = simulation_now() + 1000000 + (simulation_time)simulation_random((uint64_t)most);
    kernel_wait(&waiting, until, "getaddrinfo");
    if (!kernel_has_network()) return EAI_AGAIN;
    struct addrinfo **end = result;
    for (struct name *name = names; name != NULL; name = name->next) {
        if (host == NULL || strcasecmp(name->text, host) != 0) continue;
        if (family != AF_UNSPEC && (family == AF_INET6) != is_ipv6(name->address)) continue;
        *end = information(name->address, port, type, canonical);
        canonical = NULL;
        end = &(*end)->ai_next;
    }
    return *result == NULL ? EAI_NONAME : 0;
}

void freeaddrinfo(struct addrinfo *first) {
    if (!kernel_is_simulated()) {
        REAL(freeaddrinfo)(first);
        return;
    }
    for (struct addrinfo *next; first != NULL; first = next) {
        next = first->ai_next;
        free(first->ai_canonname);
        free(first);
    }
}

// ---- records other than addresses: of HTTPS (RFC 9460)

struct service { char name[256]; uint16_t port; struct service *next; };
static struct service *services;

void simulation_add_http3_record(const char *name, uint16_t port) {
    struct service *service = calloc(1, sizeof *service);
    strncpy(service->name, name, sizeof service->name - 1);
    service->port = port;
    service->next = services;
    services = service;
}

static uint8_t *put(uint8_t *next, const void *bytes, size_t count) {
    memcpy(next, bytes, count);
    return next + count;
}

// A response with the question and one record.
static int answer_with(const struct service *service, int type, uint8_t *answer, int capacity) {
    uint8_t question[260], *end = question;
    for (const char *label = service->name; *label != 0;) {
        size_t length = strcspn(label, ".");
        *end++ = (uint8_t)length;
        end = put(end, label, length);
        label += length + (label[length] == '.');
    }
    *end++ = 0;
    end = put(end, (uint8_t[]){ 0, (uint8_t)type, 0, 1 }, 4);
    const uint8_t head[] = { 0, 0, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0 };
    // The name of the question, an hour; priority 1 and the name itself, and which protocol is at which port.
    const uint8_t record[] = {
        0xC0, 12, 0, (uint8_t)type, 0, 1, 0, 0, 14, 16, 0, 16, 0, 1, 0, 0, 1, 0, 3, 2, 'h', '3', 0, 3, 0, 2,
        (uint8_t)(service->port >> 8), (uint8_t)service->port,
    };
    size_t count = sizeof head + (size_t)(end - question) + sizeof record;
    if (count > (size_t)capacity) return -1;
    put(put(put(answer, head, sizeof head), question, (size_t)(end - question)), record, sizeof record);
    return (int)count;
}

int res_nquery(res_state state, const char *name, int class, int type, unsigned char *answer, int capacity) {
    if (!kernel_is_simulated()) return REAL(res_nquery)(state, name, class, type, answer, capacity);
    kernel_note("asks for records of type %d of %s", type, name);
    simulation_time until = simulation_now() + 1000000 + (simulation_time)simulation_random(200 * 1000000);
    kernel_wait(&waiting, until, "res_nquery");
    if (!kernel_has_network()) {
        state->res_h_errno = TRY_AGAIN;
        return -1;
    }
    const int type_of_https = 65;
    for (struct service *service = services; service != NULL; service = service->next) {
        if (type == type_of_https && strcasecmp(service->name, name) == 0) return answer_with(service, type, answer, capacity);
    }
    state->res_h_errno = NO_DATA;
    return -1;
}
