// Counts the field lines of a stream's sections, without decoding any.
//
// nghttp3 drops a field with an invalid name or value without an error (its own header calls that
// compatibility). By RFC 9114 §4.1.2 such a message is malformed. The number of fields that nghttp3 passed on is known; the
// number received follows from the heads of the field lines (RFC 9204 §4.5), without the table and Huffman's code.
#ifdef LOADING_HTTP3

#include "session.h"

enum part {
    at_type,
    at_length,
    in_frame,  // any frame without a section
    at_insert_count,
    at_base,
    at_line,
    at_index,
    at_name_length,
    in_name,
    at_value_length,
    in_value,
    // The stream is invalid. nghttp3 reports the error.
    is_lost,
};

static const uint64_t headers_frame = 1;
// In the static table: `content-length`, with the value 0.
static const uint64_t content_length_index = 4;
static const uint64_t content_length_length = 14;
// The same in Huffman's code.
static const uint64_t content_length_coded_length = 10;

// An integer of RFC 7541 §5.1, with `bits` bits in the first octet. True at the last octet.
static bool take_prefixed(struct field_counter *self, uint8_t octet, unsigned bits) {
    if (self->shift < 0) {
        uint8_t most = (uint8_t)((1U << bits) - 1);
        self->number = octet & most;
        if (self->number < most) return true;
        self->shift = 0;
        return false;
    }
    uint64_t more = octet & 0x7F;
    if (self->shift > 62 || UINT64_MAX >> self->shift < more || UINT64_MAX - (more << self->shift) < self->number) {
        self->part = is_lost;
        return false;
    }
    self->number += more << self->shift;
    self->shift += 7;
    if (octet & 0x80) return false;
    self->shift = -1;
    return true;
}

static void begin_number(struct field_counter *self, uint8_t part, uint8_t bits, uint8_t next) {
    self->part = part;
    self->bits = bits;
    self->next = next;
    self->shift = -1;
}

static void begin_line(struct field_counter *self, uint8_t octet) {
    self->lines++;
    self->is_static = false;
    if (octet & 0x80) {
        self->is_static = (octet & 0x40) != 0;
        begin_number(self, at_index, 6, at_line);
    } else if (octet & 0x40) {
        self->is_static = (octet & 0x10) != 0;
        begin_number(self, at_index, 4, at_value_length);
    } else if (octet & 0x20) {
        self->is_coded = (octet & 0x08) != 0;
        begin_number(self, at_name_length, 3, in_name);
    } else if (octet & 0x10) {
        begin_number(self, at_index, 4, at_line);
    } else {
        begin_number(self, at_index, 3, at_value_length);
    }
}

// Only references to the static table can be resolved here.
static void note_name(struct field_counter *self) {
    if (self->part == at_index) {
        if (!self->is_static || self->number == content_length_index) self->may_have_length = true;
    } else if (self->number == (self->is_coded ? content_length_coded_length : content_length_length)) {
        self->may_have_length = true;
    }
}

static void begin_part(struct field_counter *self, uint8_t part) {
    if (part == at_value_length) begin_number(self, part, 7, in_value);
    else self->part = part;
    // It must be empty.
    if ((part == in_name || part == in_value) && self->number == 0) {
        begin_part(self, part == in_name ? at_value_length : at_line);
    }
}

static void take_octet(struct field_counter *self, uint8_t octet) {
    switch (self->part) {
    case at_insert_count:
        if (take_prefixed(self, octet, 8)) begin_number(self, at_base, 7, at_line);
        break;
    case at_line:
        begin_line(self, octet);
        // Fall through: the number begins in that octet.
    case at_base:
    case at_index:
    case at_name_length:
    case at_value_length:
        if (!take_prefixed(self, octet, self->bits)) break;
        if (self->part == at_index || self->part == at_name_length) note_name(self);
        begin_part(self, self->next);
        break;
    default:
        self->part = is_lost;
    }
}

// The frame's head has been read.
static void begin_frame(struct field_counter *self) {
    self->left = self->head.value;
    if (self->type == headers_frame) begin_number(self, at_insert_count, 8, at_base);
    else self->part = in_frame;
}

bool cl3_is_missing_fields(struct field_counter *self, uint64_t sections, uint64_t lines, uint64_t excused) {
    // Sections that wait for the table are reported together. The last of them counts for all.
    if (self->part != is_lost && sections != self->sections) return false;
    bool is_missing = self->part == is_lost || self->lines - lines > (self->may_have_length ? excused : 0);
    self->may_have_length = false;
    return is_missing;
}

size_t cl3_count_fields(struct field_counter *self, const uint8_t *bytes, size_t count) {
    size_t index = 0;
    while (index < count && self->part != is_lost) {
        if (self->part == at_type) {
            if (!cl3_take_variable(&self->head, bytes[index++])) continue;
            self->type = self->head.value;
            self->part = at_length;
            continue;
        }
        if (self->part == at_length) {
            if (!cl3_take_variable(&self->head, bytes[index++])) continue;
            begin_frame(self);
        } else {
            bool is_skipped = self->part == in_frame || self->part == in_name || self->part == in_value;
            uint64_t length = self->part == in_frame ? self->left : is_skipped ? self->number : 1;
            if (length > self->left) length = self->left;
            if (length > count - index) length = count - index;
            if (is_skipped && self->part != in_frame) {
                self->number -= length;
                if (self->number == 0) begin_part(self, self->part == in_name ? at_value_length : at_line);
            } else if (!is_skipped) {
                take_octet(self, bytes[index]);
            }
            index += length;
            self->left -= length;
        }
        if (self->left > 0 || self->part == is_lost) continue;
        bool is_section = self->type == headers_frame;
        // It may be empty, but not end within a line.
        self->part = !is_section || self->part == at_line || self->part == at_insert_count ? at_type : is_lost;
        if (is_section) {
            self->sections++;
            return index;
        }
    }
    return count;
}

#endif
