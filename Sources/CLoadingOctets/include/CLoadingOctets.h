// Loops over the octets of heads, fields, URLs, text and WebSocket payloads.
//
// In C for the sake of debug builds: a program's debug build compiles this package without optimisation too, and a loop
// in Swift then calls several functions for each octet. Everything is `static inline`, so an optimised build has it in
// the caller's code.
//
// Each function gets bounds that the caller has proved to lie inside the buffer, and reads nothing outside.
#ifndef C_LOADING_OCTETS_H
#define C_LOADING_OCTETS_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// ---- sets of ASCII characters

// One bit for each of the 128 ASCII characters.
typedef struct { uint64_t low, high; } clo_ascii_set;

static inline bool clo_contains(clo_ascii_set set, uint8_t octet) {
    return octet < 128 && ((octet < 64 ? set.low : set.high) >> (octet & 63) & 1);
}

// The characters of a URL's path and query, encoded as they have to be: ASCII without controls, space, DEL and "#".
static inline clo_ascii_set clo_target_characters(void) {
    return (clo_ascii_set) { 0xFFFFFFF600000000, 0x7FFFFFFFFFFFFFFF };
}

// The first octet in start..<end that is not in the set, or end.
static inline size_t clo_end_of_set(const uint8_t *octets, size_t start, size_t end, clo_ascii_set set) {
    while (start < end && clo_contains(set, octets[start])) start++;
    return start;
}

// The first octet at or after `from` that is not ASCII. `count` if all are.
static inline size_t clo_end_of_ascii(const void *bytes, size_t from, size_t count) {
    const uint8_t *octets = (const uint8_t *)bytes;
    size_t index = from;
    for (; index + 8 <= count; index += 8) {
        uint64_t word;
        memcpy(&word, octets + index, sizeof word);
        if (word & 0x8080808080808080) break;
    }
    while (index < count && octets[index] < 0x80) index++;
    return index;
}

// The index of the first such octet in start..<end, or end.
static inline size_t clo_index_of(const uint8_t *octets, size_t start, size_t end, uint8_t octet) {
    while (start < end && octets[start] != octet) start++;
    return start;
}

// ---- case

// Other octets than ASCII letters are unchanged.
static inline uint8_t clo_lowercase(uint8_t octet) { return (uint8_t)(octet - 'A') < 26 ? octet | 0x20 : octet; }

static inline void clo_copy_lowercase(uint8_t *target, const uint8_t *octets, size_t count) {
    for (size_t index = 0; index < count; index++) target[index] = clo_lowercase(octets[index]);
}

// Whether two texts of the same length are equal but for the case of ASCII letters.
static inline bool clo_equals_ignoring_case(const uint8_t *one, const uint8_t *other, size_t count) {
    for (size_t index = 0; index < count; index++) {
        if (one[index] != other[index] && clo_lowercase(one[index]) != clo_lowercase(other[index])) return false;
    }
    return true;
}

// ---- HTTP/1.1 (RFC 9110 §5, RFC 9112 §2.2)

static inline uint64_t clo_little_endian_word(const uint8_t *octets) {
    uint64_t word;
    memcpy(&word, octets, sizeof word);
    return le64toh(word);
}

static inline bool clo_ends_text(uint8_t octet) { return octet == '\r' || octet == '\n' || octet == 0; }

// The first CR, LF or NUL in start..<end, or end.
//
// Eight octets at a time: subtracting 0x20 from each borrows exactly where an octet is below it, and the lowest borrow is
// always a true one. Other control characters are stepped over.
static inline size_t clo_end_of_text(const uint8_t *octets, size_t start, size_t end) {
    size_t index = start;
    while (index + 8 <= end) {
        uint64_t word = clo_little_endian_word(octets + index);
        uint64_t controls = (word - 0x2020202020202020) & ~word & 0x8080808080808080;
        if (controls == 0) {
            index += 8;
            continue;
        }
        index += (size_t)__builtin_ctzll(controls) >> 3;
        if (clo_ends_text(octets[index])) return index;
        index++;
    }
    while (index < end && !clo_ends_text(octets[index])) index++;
    return index;
}

// The characters of a token, such as a method or a field name (RFC 9110 §5.6.2).
static inline bool clo_is_token(uint8_t octet) {
    clo_ascii_set tokens = { 0x03FF6CFA00000000, 0x57FFFFFFC7FFFFFE };
    return clo_contains(tokens, octet);
}

// The first octet in start..<end that is no token character, or end.
//
// Eight octets at a time as long as they are letters and hyphens, as in nearly all names. Adding to an octet below 0x80
// what lacks from a bound to 0x80 sets its top bit exactly if it reaches the bound, and carries nothing over.
static inline size_t clo_end_of_token(const uint8_t *octets, size_t start, size_t end) {
    size_t index = start;
    while (index + 8 <= end) {
        uint64_t word = clo_little_endian_word(octets + index);
        uint64_t low_bits = word & 0x7F7F7F7F7F7F7F7F;
        uint64_t lower = low_bits | 0x2020202020202020;
        uint64_t letters = (lower + 0x1F1F1F1F1F1F1F1F) & ~(lower + 0x0505050505050505);
        uint64_t hyphens = ~((low_bits ^ 0x2D2D2D2D2D2D2D2D) + 0x7F7F7F7F7F7F7F7F);
        uint64_t others = ~((letters | hyphens) & ~word) & 0x8080808080808080;
        if (others == 0) {
            index += 8;
            continue;
        }
        index += (size_t)__builtin_ctzll(others) >> 3;
        if (!clo_is_token(octets[index])) return index;
        index++;
    }
    while (index < end && clo_is_token(octets[index])) index++;
    return index;
}

// A space or a tab: what may stand around a field value (RFC 9110 §5.6.3).
static inline bool clo_is_whitespace(uint8_t octet) { return octet == ' ' || octet == '\t'; }

static inline size_t clo_end_of_whitespace(const uint8_t *octets, size_t start, size_t end) {
    while (start < end && clo_is_whitespace(octets[start])) start++;
    return start;
}

// Where the whitespace begins that ends start..<end, or end.
static inline size_t clo_start_of_trailing_whitespace(const uint8_t *octets, size_t start, size_t end) {
    while (end > start && clo_is_whitespace(octets[end - 1])) end--;
    return end;
}

// The index after a CRLF or LF at `index`, or 0.
static inline size_t clo_end_of_line(const uint8_t *octets, size_t index, size_t end) {
    if (index >= end) return 0;
    if (octets[index] == '\n') return index + 1;
    return octets[index] == '\r' && index + 1 < end && octets[index + 1] == '\n' ? index + 2 : 0;
}

// The place of one field in a block: what HTTPFields.Position is in Swift. A test compares the two.
typedef struct { uint32_t name_start, name_length, value_start, value_length; } clo_field;

// Splits the fields that begin at `start` and end with an empty line. Returns the index after that line; 0 if it is not
// there, if there are more than `capacity` fields, or if one is not plain: folded, without a name, with a NUL or a lone CR.
static inline size_t clo_split_fields(
    const uint8_t *octets, size_t start, size_t end, clo_field *fields, size_t capacity, size_t *count) {
    size_t index = start;
    for (*count = 0;; ++*count) {
        size_t name_start = index;
        size_t name_end = clo_end_of_token(octets, name_start, end);
        if (name_end == name_start) return clo_end_of_line(octets, name_end, end);
        if (name_end >= end || octets[name_end] != ':' || *count >= capacity) return 0;
        size_t value_start = clo_end_of_whitespace(octets, name_end + 1, end);
        size_t line_end = clo_end_of_text(octets, value_start, end);
        size_t value_end = clo_start_of_trailing_whitespace(octets, value_start, line_end);
        index = clo_end_of_line(octets, line_end, end);
        if (index == 0) return 0;
        fields[*count] = (clo_field){
            (uint32_t)name_start, (uint32_t)(name_end - name_start),
            (uint32_t)value_start, (uint32_t)(value_end - value_start),
        };
    }
}

// The index of the first field with that name, in any case; `count` if there is none.
static inline size_t clo_index_of_field(
    const uint8_t *block, size_t block_count, const clo_field *fields, size_t count,
    const uint8_t *name, size_t name_count) {
    for (size_t index = 0; index < count; index++) {
        // All fields lie within the block; the second condition only protects memory if one did not.
        if (fields[index].name_length != name_count || name_count > block_count
            || fields[index].name_start > block_count - name_count) continue;
        if (clo_equals_ignoring_case(block + fields[index].name_start, name, name_count)) return index;
    }
    return count;
}

// ---- text

// The first of the bytes from `from` on that may be the last one of a line's end: LF, VT, FF, CR, or not ASCII. `count` if
// there is none.
static inline size_t clo_possible_line_end(const void *bytes, size_t from, size_t count) {
    const uint64_t ones = 0x0101010101010101;
    const unsigned char *octets = (const unsigned char *)bytes;
    size_t index = from;
    for (; index + 8 <= count; index += 8) {
        uint64_t word;
        memcpy(&word, octets + index, sizeof word);
        word = le64toh(word);
        // The top bit of each byte is set in `below` if its lower seven bits are less than 0x0E, and in `above` if they are
        // more than 0x09. There is no carry or borrow between bytes.
        uint64_t low = word & (ones * 0x7F);
        uint64_t below = ones * (0x7F + 0x0E) - low, above = low + ones * (0x7F - 0x09);
        uint64_t marks = ((below & above) | word) & (ones * 0x80);
        if (marks) return index + (size_t)(__builtin_ctzll(marks) >> 3);
    }
    for (; index < count; index++) {
        if (octets[index] >= 0x80 || (octets[index] >= 0x0A && octets[index] <= 0x0D)) break;
    }
    return index < count ? index : count;
}

// ---- WebSocket (RFC 6455 §5.3)

// Writes `count` bytes, each combined with its byte of the key, in memory order. `target` may be `bytes`.
static inline void clo_mask(void *target, const void *bytes, size_t count, uint64_t key) {
    unsigned char *out = (unsigned char *)target;
    const unsigned char *in = (const unsigned char *)bytes;
    size_t index = 0;
    for (; index + sizeof key <= count; index += sizeof key) {
        uint64_t word;
        memcpy(&word, in + index, sizeof word);
        word ^= key;
        memcpy(out + index, &word, sizeof word);
    }
    const unsigned char *octets = (const unsigned char *)&key;
    for (; index < count; index++) out[index] = in[index] ^ octets[index % sizeof key];
}

#endif
