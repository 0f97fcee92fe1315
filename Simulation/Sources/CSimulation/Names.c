// Names of hosts, and this machine's addresses.
#include "Kernel.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdio.h>

struct name { char text[256]; uint32_t address; struct name *next; };
static struct name *names;

void simulation_add_name(const char *text, uint32_t address) {
    struct name *name = calloc(1, sizeof *name);
    strncpy(name->text, text, sizeof name->text - 1);
    name->address = address;
    name->next = names;
    names = name;
}

static struct addrinfo *information(uint32_t address, uint16_t port, int type, const char *canonical) {
    struct addrinfo *found = calloc(1, sizeof *found + sizeof(struct sockaddr_in));
    struct sockaddr_in *socket_address = (struct sockaddr_in *)(found + 1);
    *socket_address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = { htonl(address) },
    };
    found->ai_family = AF_INET;
    found->ai_socktype = type;
    found->ai_protocol = type == SOCK_DGRAM ? IPPROTO_UDP : IPPROTO_TCP;
    found->ai_addr = (struct sockaddr *)socket_address;
    found->ai_addrlen = sizeof *socket_address;
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
    if (hints != NULL && hints->ai_family == AF_INET6) return EAI_NONAME;
    struct in_addr literal;
    if (host != NULL && inet_pton(AF_INET, host, &literal) == 1) {
        *result = information(ntohl(literal.s_addr), port, type, canonical);
        return 0;
    }
    if (hints != NULL && (hints->ai_flags & AI_NUMERICHOST)) return EAI_NONAME;
    kernel_note("asks for the addresses of %s", host == NULL ? "this machine" : host);
    simulation_time until = simulation_now() + 1000000 + (simulation_time)simulation_random(50 * 1000000);
    kernel_wait(&waiting, until, "getaddrinfo");
    struct addrinfo **end = result;
    for (struct name *name = names; name != NULL; name = name->next) {
        if (host == NULL || strcasecmp(name->text, host) != 0) continue;
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

// Records other than addresses: there are none.
int res_nquery(res_state state, const char *name, int class, int type, unsigned char *answer, int capacity) {
    if (!kernel_is_simulated()) return REAL(res_nquery)(state, name, class, type, answer, capacity);
    kernel_note("asks for records of type %d of %s", type, name);
    simulation_time until = simulation_now() + 1000000 + (simulation_time)simulation_random(200 * 1000000);
    kernel_wait(&waiting, until, "res_nquery");
    state->res_h_errno = NO_DATA;
    return -1;
}

// One interface, with one address.
struct interface { struct ifaddrs entry; struct sockaddr_in address, mask; };

int getifaddrs(struct ifaddrs **result) {
    if (!kernel_is_simulated()) return REAL(getifaddrs)(result);
    struct interface *interface = calloc(1, sizeof *interface);
    interface->address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(0x0A000001) } };
    interface->mask = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = { htonl(0xFF000000) } };
    interface->entry = (struct ifaddrs){
        .ifa_name = "sim0", .ifa_flags = IFF_UP | IFF_RUNNING, .ifa_addr = (struct sockaddr *)&interface->address,
        .ifa_netmask = (struct sockaddr *)&interface->mask,
    };
    *result = &interface->entry;
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
