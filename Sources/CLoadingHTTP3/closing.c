// The end of a connection: its reason, and the CONNECTION_CLOSE for the peer.
#ifdef LOADING_HTTP3

#include "quic.h"

#include <string.h>

static void write_close(cl3_session *self, const close_error *error) {
    struct quic *quic = quic_of(self);
    self->is_over = true;
    if (!cl3_may_be_used(quic)) return;
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    ngtcp2_pkt_info info;
    ngtcp2_ssize count = ngtcp2_conn_write_connection_close(
        quic->conn, &path.path, &info, quic->close_datagram, sizeof quic->close_datagram, error, quic->now);
    quic->close_count = count > 0 ? (size_t)count : 0;
}

void cl3_close(cl3_session *self, cl3_code_kind kind, uint64_t code, uint64_t now) {
    if (self->is_over) return;
    cl3_set_problem(self, CL3_CLOSED, code, kind == CL3_CODE_APPLICATION, NULL);
    if (self->transport != &cl3_quic) {
        self->is_over = true;
        return;
    }
    advance(quic_of(self), now);
    close_error error;
    close_error_default(&error);
    switch (kind) {
    case CL3_CODE_TRANSPORT: close_error_set_transport(&error, code, NULL, 0); break;
    case CL3_CODE_APPLICATION: close_error_set_application(&error, code, NULL, 0); break;
    case CL3_CODE_ALERT: close_error_set_alert(&error, (uint8_t)code, NULL, 0); break;
    }
    write_close(self, &error);
}

cl3_bytes cl3_close_datagram(cl3_session *self) {
    if (self->transport != &cl3_quic) return (cl3_bytes){NULL, 0};
    return (cl3_bytes){quic_of(self)->close_datagram, quic_of(self)->close_count};
}

static void note_peers_close(cl3_session *self) {
    close_error error;
    close_error_default(&error);
#if CL3_NGTCP2_IS_STABLE
    error = *ngtcp2_conn_get_ccerr(quic_of(self)->conn);
#else
    ngtcp2_conn_get_connection_close_error(quic_of(self)->conn, &error);
#endif
    cl3_set_problem(self, CL3_CLOSED_BY_PEER, error.error_code, error.type == CLOSE_ERROR_APPLICATION, NULL);
    size_t count = error.reasonlen < sizeof self->reason ? error.reasonlen : sizeof self->reason;
    if (count) memcpy(self->reason, error.reason, count);
    if (self->problem.result == CL3_CLOSED_BY_PEER) {
        self->problem.text = self->reason;
        self->problem.text_length = count;
    }
}

// Maps an error of ngtcp2 to the problem and to the CONNECTION_CLOSE for the peer. Nothing is written or read after this.
int cl3_failed(cl3_session *self, int result) {
    struct quic *quic = quic_of(self);
    close_error error;
    close_error_default(&error);
    self->is_over = true;
    switch (result) {
    case NGTCP2_ERR_DRAINING:
    case NGTCP2_ERR_CLOSING:
        if (quic->was_reset) cl3_set_problem(self, CL3_STATELESS_RESET, 0, false, NULL);
        else note_peers_close(self);
        break;
    case NGTCP2_ERR_RECV_VERSION_NEGOTIATION:
    case NGTCP2_ERR_VERSION_NEGOTIATION_FAILURE:
        cl3_set_problem(self, CL3_NO_VERSION, 0, false, NULL);
        break;
    case NGTCP2_ERR_IDLE_CLOSE:
        cl3_set_problem(self, CL3_IDLE, 0, false, NULL);
        break;
    case NGTCP2_ERR_HANDSHAKE_TIMEOUT:
        cl3_set_problem(self, CL3_HANDSHAKE_TIMEOUT, 0, false, NULL);
        break;
    case NGTCP2_ERR_NO_VIABLE_PATH:
        cl3_set_problem(self, CL3_NO_PATH, 0, false, NULL);
        break;
    case NGTCP2_ERR_NOMEM:
        cl3_set_problem(self, CL3_OUT_OF_MEMORY, 0, false, NULL);
        break;
    // The peer would have it keep more than it has room for, such as data with gaps. Before 1.0 ngtcp2 calls that a breach of
    // the protocol, which it is not (RFC 9000 20.1).
    case NGTCP2_ERR_INTERNAL:
        cl3_set_problem(self, CL3_VIOLATION, NGTCP2_INTERNAL_ERROR, false, ngtcp2_strerror(result));
        close_error_set_transport(&error, self->problem.code, NULL, 0);
        write_close(self, &error);
        break;
    case NGTCP2_ERR_CRYPTO: {
        uint8_t alert = ngtcp2_conn_get_tls_alert(quic->conn);
        cl3_set_problem(self, CL3_TLS, alert, false, NULL);
        close_error_set_alert(&error, (uint8_t)self->problem.code, NULL, 0);
        write_close(self, &error);
        break;
    }
    case NGTCP2_ERR_CALLBACK_FAILURE:
        if (self->problem.result == CL3_TLS) {
            close_error_set_alert(&error, (uint8_t)self->problem.code, NULL, 0);
        } else if (self->problem.result && !self->problem.is_application) {
            close_error_set_transport(&error, self->problem.code, NULL, 0);
        } else {
            cl3_set_problem(self, CL3_VIOLATION, NGHTTP3_H3_INTERNAL_ERROR, true, NULL);
            close_error_set_application(&error, self->problem.code, NULL, 0);
        }
        write_close(self, &error);
        break;
    default: {
        uint64_t code = ngtcp2_err_infer_quic_transport_error_code(result);
        cl3_set_problem(self, CL3_VIOLATION, code, false, ngtcp2_strerror(result));
        close_error_set_transport(&error, code, NULL, 0);
        write_close(self, &error);
        break;
    }
    }
    return self->problem.result;
}

#endif
