/// A zlib stream (RFC 1950) with stored blocks, which the client decodes like compressed ones.
enum StoredDeflate {
    static func encode(_ size: Int) -> [UInt8] {
        var coded: [UInt8] = [0x78, 0x01]
        var low: UInt32 = 1
        var high: UInt32 = 0
        var position = 0
        repeat {
            let count = min(size - position, 65_535)
            coded.append(position + count == size ? 1 : 0)
            coded += [UInt8(count & 0xFF), UInt8(count >> 8), ~UInt8(count & 0xFF), ~UInt8(count >> 8)]
            BodyPattern.withBytes(at: position, count: count) { bytes in
                coded.append(contentsOf: bytes)
                for byte in bytes {
                    low = (low + UInt32(byte)) % 65_521
                    high = (high + low) % 65_521
                }
            }
            position += count
        } while position < size
        let sum = high << 16 | low
        coded += [UInt8(sum >> 24), UInt8(sum >> 16 & 0xFF), UInt8(sum >> 8 & 0xFF), UInt8(sum & 0xFF)]
        return coded
    }
}
