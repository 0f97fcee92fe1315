// A simulated kernel for one process: threads that run one at a time, in an order that a seed decides; time that passes
// only when all of them wait; a network whose other hosts are functions of the program.
//
// The functions of the C library that reach the kernel are defined by this target, so the program and the shared libraries
// that it loads call these. Before simulation_begin they go on to the C library. See docs/simulation.md.
#ifndef C_SIMULATION_H
#define C_SIMULATION_H

#include <stdbool.h>
#include <stdint.h>
#include "CSimulationServers.h"

typedef int64_t simulation_time; // nanoseconds

// Where a world is. The clock of one that has not begun is 0.
typedef struct {
    simulation_time clock;
    uint64_t events, hash;
} simulation_state;

typedef struct {
    uint64_t seed;
    // Another order of the threads for the same seed.
    uint64_t order;
    // Ends the process with an error: the world took longer than it may. Virtual time since the beginning.
    simulation_time limit;
    // Of 256 calls that may hand over to another thread, how many do.
    uint32_t preemption;
    // Write each event to standard error.
    bool traces;
    // There are programs in processes of their own (simulation_begin_processes).
    bool has_processes;
    // Of a process that goes on in the world of another one, after a power cut.
    simulation_state before;
} simulation_options;

// What the process exits with when the simulation itself ends it.
enum { simulation_deadlock = 70, simulation_timeout = 71, simulation_stuck = 72 };

// The thread that calls is the first of the simulation. Call it before anything starts another thread.
void simulation_begin(simulation_options options);
simulation_time simulation_now(void);
// How many events there were, and a hash of all of them: equal for equal seeds.
uint64_t simulation_events(void);
uint64_t simulation_hash(void);
// From the generator of the seed: 0..<bound.
uint64_t simulation_random(uint64_t bound);
// Adds to the trace.
void simulation_note(const char *text);
// Moves the wall clock, not the monotonic one.
void simulation_set_wall_clock(simulation_time difference);
// Sockets of TCP and UDP that the process has open.
int simulation_open_sockets(void);

// ---- the disk

enum {
    simulation_disk_works, simulation_disk_full, simulation_disk_read_only, simulation_disk_broken,
    // Calls return when it works again.
    simulation_disk_hangs,
};

typedef struct {
    int32_t state;
    // Of a broken one: how many calls there are for each that fails; at least 1.
    uint32_t calls_per_error;
    // Each call takes up to this.
    simulation_time latency;
    // No file can be opened, and no socket made.
    bool has_no_descriptor;
} simulation_disk;

// Which folder it is, with all files in it.
void simulation_mount(const char *folder);
void simulation_set_disk(simulation_disk disk);
// Between these two, the disk works for the calling thread.
void simulation_begin_undisturbed(void);
void simulation_end_undisturbed(void);
// The power fails after so many changes of the disk. The program starts again on what is left.
void simulation_cut_power_after(uint64_t changes);

// ---- processes

// What the Swift runtime would do again in each world: before worlds are forked.
void simulation_prepare_types(void);
// The numbers of those processors of this machine that the process may use. Returns how many.
int simulation_processors(int32_t *numbers, int most);
// Waits for lines on standard input, each of which is a world, and forks a process for it. Returns only in these, with the line and the
// state in which the power has failed, if it has. In the process that forks, the exit status of each goes to standard output, -1 for one
// that was killed because it did not end. Standard output and standard error of the worlds and their events go to the files; NULL changes
// nothing. All of it runs on one processor; a negative number means any.
const char *simulation_next_world(
    const char *output, const char *errors, const char *events, int processor, simulation_state *state);
// The file of events begins with how many octets of it are used, with these eight. This is before the text of each.
typedef struct {
    simulation_time time;
    int32_t thread, length;
} simulation_event;

// ---- programs in processes of their own

// A second program is one that the service launches while there is one, and ends at once.
enum { simulation_program = 1, simulation_service = 2, simulation_second_program = 4 };
// Instead of an exit status.
enum { simulation_was_killed = -1, simulation_power_failed = -2 };

// Everything of the world that its programs need is there. `program` is what a program runs, and `service` what a service runs first, each
// in its process. `ended` is called in that of the world, on the thread of events, when a process has ended: with its role, and a status.
void simulation_begin_processes(void (*program)(void), void (*service)(void), void (*ended)(int role, int reason));
void simulation_start_program(void);
// As systemd does, without a program. False if it runs, or if no program has started it yet.
bool simulation_start_service(void);
// The roles of the processes that there are.
int simulation_running(void);
void simulation_kill(int roles);
// At some call of one of them.
void simulation_kill_after(int roles, uint64_t calls);
// Kills all of them, and what is not on the disk is lost.
void simulation_cut_power(void);
void simulation_signal_service(int signal);

// ---- hosts

// Calls of one listener. They run on one thread of the simulation, which may wait like any other.
typedef struct {
    void *context;
    void (*connected)(void *context, int connection);
    void (*received)(void *context, int connection, const uint8_t *bytes, int64_t count);
    // The client has closed its side, or the connection is broken.
    void (*ended)(void *context, int connection, bool is_broken);
} simulation_listener;

// An IPv4 address in host byte order; with simulation_ipv6 added to it, fd00:: and these 32 bits.
typedef uint64_t simulation_address;
static const simulation_address simulation_ipv6 = 1ull << 32;

// A name may have several addresses. Answers with those of a family take at most `delay`.
void simulation_add_name(const char *name, simulation_address address, simulation_time delay);
// From now on the name has the address `to` in place of `from`.
void simulation_change_name(const char *name, simulation_address from, simulation_address to);
// A record that says that the host has HTTP/3 at this port.
void simulation_add_http3_record(const char *name, uint16_t port);
void simulation_listen(simulation_address address, uint16_t port, simulation_listener listener);
// The addresses of this machine, 0 for none, and with each a route to all hosts of its family. First it has 10.0.0.1 alone.
// What is under way on an address that is gone is lost, and sent again when it is there again.
void simulation_set_network(simulation_address ipv4, simulation_address ipv6);

typedef struct {
    simulation_time latency, jitter;
    // Bytes that arrive together at most, and bytes that a socket takes before the host has acknowledged them; at least 1.
    int32_t largest_segment, send_buffer;
    // What a socket holds that the program has not read; at least 1.
    int32_t receive_buffer;
    // After so many bytes to the client or from it, 0 for never: the connection breaks, or goes silent.
    int64_t breaks_after, silent_after;
} simulation_link;

// Of the connections that are made from now on. `address` 0 is for all others.
void simulation_set_link(simulation_address address, simulation_link link);
// Packets to and from the host are lost. What was sent arrives when it can be reached again.
void simulation_set_reachable(simulation_address address, bool is_reachable);
// A connection to it fails with this errno, as reported by a router: 0 for none.
void simulation_set_unreachable(simulation_address address, int error);

// For listeners, on their thread.
void simulation_send(int connection, const void *bytes, int64_t count);
// They arrive in one piece.
void simulation_send_together(int connection, const void *bytes, int64_t count);
// The program has read all that was sent.
bool simulation_is_read(int connection);
// No more bytes after those that were sent.
void simulation_finish(int connection);
void simulation_reset(int connection);
void simulation_after(simulation_time delay, void (*work)(void *context), void *context);

// ---- datagrams

typedef struct {
    void *context;
    // From this port of the process. `mark` is the two bits of congestion (RFC 3168).
    void (*received)(void *context, uint16_t port, const uint8_t *bytes, int64_t count, uint8_t mark);
} simulation_datagram_listener;

void simulation_listen_datagrams(simulation_address address, uint16_t port, simulation_datagram_listener listener);

typedef struct {
    simulation_time latency, jitter;
    // Of a thousand datagrams, how many are lost, come twice, are overtaken by others, and are marked as having waited in a long queue.
    int32_t losses, duplicates, delays, marks;
    // One after the other.
    int32_t most_losses_in_a_row;
    // What comes after a longer silence is lost, as where a router sleeps; 0 for nothing.
    simulation_time longest_silence;
    // Octets. Longer ones are lost.
    int32_t longest_datagram;
    // What a socket takes that has not left the machine, and what it holds that the program has not read.
    int32_t send_buffer, receive_buffer;
    // At which they leave the machine; at least 1.
    int32_t octets_per_millisecond;
    // The kernel makes datagrams of a long message (UDP_SEGMENT).
    bool cuts_messages;
} simulation_datagram_path;

void simulation_set_datagram_path(simulation_address address, simulation_datagram_path path);
// Whether datagrams to and from the host arrive. TCP is not affected.
void simulation_set_datagrams_pass(simulation_address address, bool pass);
// For listeners, on their thread: to a port of the process.
void simulation_send_datagram(
    simulation_address address, uint16_t port, uint16_t to, const void *bytes, int64_t count, uint8_t mark);

#endif
