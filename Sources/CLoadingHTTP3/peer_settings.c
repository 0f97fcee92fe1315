// The peer's SETTINGS (RFC 9114 section 7.2.4), as far as nghttp3 does not pass them on: its older versions have no callback
// for them. nghttp3 reads the same bytes, and ends the connection if they are not in order.
#ifdef LOADING_HTTP3

#include "session.h"

enum part { at_stream_type, at_frame_type, at_frame_length, at_identifier, at_value, is_read };

static const uint64_t enable_connect_protocol = 8;

static void take_number(struct peer_settings *self, uint64_t number) {
    switch (self->part) {
    case at_frame_length:
        self->left = number;
        break;
    case at_identifier:
        self->identifier = number;
        break;
    case at_value:
        if (self->identifier == enable_connect_protocol) self->allows_connect_protocol = number == 1;
        self->part = at_identifier;
        return;
    }
    self->part++;
}

void cl3_note_settings(cl3_session *session, int64_t id, const uint8_t *bytes, size_t count) {
    struct peer_settings *self = &session->peer_settings;
    uint64_t index = (uint64_t)id >> 2;
    if (self->part == is_read || (id & 3) != 3 || index >= 64 || count == 0) return;
    // The first octet of a unidirectional stream is its type. Type 0 is the control stream, whose first frame has the settings.
    bool is_first = (self->begun >> index & 1) == 0;
    self->begun |= (uint64_t)1 << index;
    if (is_first && bytes[0] == 0 && self->stream == 0) self->stream = id;
    if (id != self->stream) return;
    for (size_t at = 0; at < count && self->part != is_read; at++) {
        if (self->part >= at_identifier) self->left--;
        if (cl3_take_variable(&self->number, bytes[at])) take_number(self, self->number.value);
        if (self->part >= at_identifier && self->left == 0) self->part = is_read;
    }
}

bool cl3_peer_allows_connect_protocol(cl3_session *self) { return self->peer_settings.allows_connect_protocol; }

#endif
