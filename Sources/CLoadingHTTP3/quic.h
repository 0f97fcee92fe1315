// Declarations of the transport's files: a QUIC connection, by ngtcp2 and GnuTLS.
#ifndef CL3_QUIC_H
#define CL3_QUIC_H

#include "session.h"

#include <sys/socket.h>

// ---- two generations of ngtcp2

#if CL3_NGTCP2_IS_STABLE
typedef ngtcp2_ccerr close_error;
#define close_error_default ngtcp2_ccerr_default
#define close_error_set_transport ngtcp2_ccerr_set_transport_error
#define close_error_set_alert ngtcp2_ccerr_set_tls_alert
#define close_error_set_application ngtcp2_ccerr_set_application_error
#define CLOSE_ERROR_APPLICATION NGTCP2_CCERR_TYPE_APPLICATION
#define stop_stream_reading(conn, id, code) ngtcp2_conn_shutdown_stream_read((conn), 0, (id), (code))
#define stop_stream_writing(conn, id, code) ngtcp2_conn_shutdown_stream_write((conn), 0, (id), (code))
#define reject_early_data ngtcp2_conn_tls_early_data_rejected
typedef ngtcp2_encryption_level encryption_level;
typedef ngtcp2_conn_info connection_facts;
#define get_connection_facts ngtcp2_conn_get_conn_info
#define is_in_closing_period ngtcp2_conn_in_closing_period
#define is_in_draining_period ngtcp2_conn_in_draining_period
#else
typedef ngtcp2_connection_close_error close_error;
#define close_error_default ngtcp2_connection_close_error_default
#define close_error_set_transport ngtcp2_connection_close_error_set_transport_error
#define close_error_set_alert ngtcp2_connection_close_error_set_transport_error_tls_alert
#define close_error_set_application ngtcp2_connection_close_error_set_application_error
#define CLOSE_ERROR_APPLICATION NGTCP2_CONNECTION_CLOSE_ERROR_CODE_TYPE_APPLICATION
#define stop_stream_reading ngtcp2_conn_shutdown_stream_read
#define stop_stream_writing ngtcp2_conn_shutdown_stream_write
#define reject_early_data ngtcp2_conn_early_data_rejected
typedef ngtcp2_crypto_level encryption_level;
typedef ngtcp2_conn_stat connection_facts;
#define get_connection_facts ngtcp2_conn_get_conn_stat
#define is_in_closing_period ngtcp2_conn_is_in_closing_period
#define is_in_draining_period ngtcp2_conn_is_in_draining_period
#endif

enum { identity_capacity = 8, nonce_capacity = 1024 };

struct quic {
    cl3_session *session;
    ngtcp2_conn *conn;
    gnutls_session_t tls;
    gnutls_certificate_credentials_t credentials;
    // The client's identity.
    gnutls_pcert_st identity[identity_capacity];
    unsigned identity_count;
    gnutls_privkey_t identity_key;
    uint8_t *identity_reader;
    size_t identity_reader_count;
    bool is_certificate_wanted;
    bool is_handshake_confirmed;
    uint8_t *issuers;
    size_t issuers_count;
    ngtcp2_crypto_conn_ref reference;
    struct sockaddr_storage local, remote;
    ngtcp2_path path;
    uint64_t now;

    // Input for GnuTLS, and its output.
    bool is_ticket_used, allows_early_data, offers_early_data;
    bool was_reset;
    int early_data_accepted;
    unsigned tickets;
    uint32_t ticket_lifetime;  // of the ticket that is being read
    size_t message_length;     // of the handshake's message that is not whole yet, or more

    // What the last packets were encrypted with: a secret and the packet's number, so that each of so many in a row has a place
    // of its own.
    uint64_t nonces[nonce_capacity];

    uint64_t keep_alive;
    // In nanoseconds; 0 for none, or if it is not known yet.
    uint64_t peer_idle_timeout;
    bool wants_ping;

    uint8_t *room;
    // A datagram that did not fit in the last batch.
    size_t held_start, held_count;
    uint8_t held_ecn;
    uint8_t close_datagram[1500];
    size_t close_count;
};

// In connection.c.
extern const struct transport cl3_quic;

static inline struct quic *quic_of(cl3_session *self) { return self->link; }

// ngtcp2 asserts that time does not decrease.
static inline uint64_t advance(struct quic *quic, uint64_t now) {
    if (now > quic->now) quic->now = now;
    return quic->now;
}

// In tls.c. False if the identity is unusable.
bool cl3_take_identity(struct quic *quic, const cl3_opening *opening);
bool cl3_start_tls(struct quic *quic, const cl3_opening *opening);
void cl3_end_tls(struct quic *quic);
int cl3_on_crypto_data(
    ngtcp2_conn *conn, encryption_level level, uint64_t offset, const uint8_t *bytes, size_t count, void *user);
int cl3_on_handshake_complete(ngtcp2_conn *conn, void *user);
void cl3_apply_keep_alive(struct quic *quic);

// In closing.c. Sets the problem for an error of ngtcp2, and writes the CONNECTION_CLOSE. Nothing is written or read after
// this.
int cl3_failed(cl3_session *self, int result);

static inline bool cl3_may_be_used(struct quic *quic) {
    return !is_in_closing_period(quic->conn) && !is_in_draining_period(quic->conn);
}

// After a call into ngtcp2: does the deferred work.
static inline int cl3_finish(cl3_session *self, int result) {
    // Input before the failure counts as received.
    if (result != 0 || self->problem.result) cl3_tell_gathered(self);
    self->is_in_library = false;
    if (result != 0) return cl3_failed(self, result);
    cl3_settle(self);
    return self->problem.result ? cl3_failed(self, NGTCP2_ERR_CALLBACK_FAILURE) : 0;
}

#endif
