internal import Foundation

/// Bodies in content codings, built by hand to avoid linking encoders.
package enum CodedBodies {
    /// gzip without compression.
    package static func gzip(_ body: [UInt8]) -> [UInt8] {
        let length = UInt16(clamping: body.count)
        let stored: [UInt8] = [1] + littleEndian(length) + littleEndian(~length) + body.prefix(Int(length))
        return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF] + stored + littleEndian(crc32(body))
            + littleEndian(UInt32(truncatingIfNeeded: body.count))
    }

    package static func gzip(_ text: String) -> [UInt8] { gzip(Array(text.utf8)) }

    /// `deflate` as RFC 9110 defines it: zlib format.
    package static func zlib(_ text: String) -> [UInt8] {
        let body = Array(text.utf8)
        let length = UInt16(clamping: body.count)
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in body {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return [0x78, 0x01, 1] + littleEndian(length) + littleEndian(~length) + body
            + littleEndian((high << 16 | low).byteSwapped)
    }

    /// `deflate` as some servers send it: raw, without the zlib header.
    package static func rawDeflate(_ text: String) -> [UInt8] { Array(zlib(text).dropFirst(2).dropLast(4)) }

    /// "hello" in brotli.
    package static let brotliHello: [UInt8] = [0x0B, 0x02, 0x80, 0x68, 0x65, 0x6C, 0x6C, 0x6F, 0x03]

    /// zstd without compression and checksum.
    package static func zstd(_ text: String) -> [UInt8] {
        let body = Array(text.utf8)
        let size = UInt8(clamping: body.count)
        // A single segment with one byte of size, then one last raw block.
        return [0x28, 0xB5, 0x2F, 0xFD, 0x20, size] + littleEndian(UInt32(size) << 3 | 1).prefix(3) + body
    }

    /// The beginning of a zlib stream of zeros.
    package static let bombHead: [UInt8] = [0x78, 0x01]

    /// A part of a zlib stream: eight blocks with 132,104 zeros in 850 bytes. It ends at a byte boundary, so it can be
    /// repeated.
    package static let bombPart: [UInt8] = {
        var bits = BitWriter()
        for _ in 0..<8 {
            // Not the last block, fixed codes.
            bits.write(0b010, count: 3)
            // The literal 0, then copies of 258 bytes at distance 1, then the end of the block.
            bits.writeCode(0b0011_0000, count: 8)
            for _ in 0..<Self.copies {
                bits.writeCode(0b1100_0101, count: 8)
                bits.writeCode(0, count: 5)
            }
            bits.writeCode(0, count: 7)
        }
        return bits.bytes
    }()

    private static let copies = 64
    /// The number of zeros in a part.
    package static let bombPartLength = 8 * (1 + copies * 258)

    /// The end of a zlib stream with a number of parts.
    package static func bombEnd(parts: Int) -> [UInt8] {
        // An empty last block; the checksum of zeros is their count and one.
        let count = UInt32((parts * bombPartLength) % 65_521)
        return [0x03, 0x00] + littleEndian((count << 16 | 1).byteSwapped)
    }

    /// An endless zlib stream that decodes to a bomb: its header, then repeated copies of 258 bytes of its parts.
    package static func bombInABomb(copies: Int) -> [UInt8] {
        var bits = BitWriter()
        bits.write(0b010, count: 3)
        for byte in bombHead + bombPart {
            if byte < 144 {
                bits.writeCode(0b0011_0000 + UInt(byte), count: 8)
            } else {
                bits.writeCode(0b1_1001_0000 + UInt(byte - 144), count: 9)
            }
        }
        for _ in 0..<copies {
            bits.writeCode(0b1100_0101, count: 8)
            // At distance 769 + 81, the length of a part.
            bits.writeCode(19, count: 5)
            bits.write(81, count: 8)
        }
        return bombHead + bits.bytes
    }

    private static func littleEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    package static func crc32(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~0 as UInt32) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum >> 1 ^ (sum & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
    }

    private struct BitWriter {
        private(set) var bytes: [UInt8] = []
        private var used = 0

        /// Least significant bit first.
        mutating func write(_ bits: UInt, count: Int) {
            for index in 0..<count { append(bits >> UInt(index) & 1) }
        }

        /// A Huffman code: most significant bit first.
        mutating func writeCode(_ code: UInt, count: Int) {
            for index in (0..<count).reversed() { append(code >> UInt(index) & 1) }
        }

        private mutating func append(_ bit: UInt) {
            if used == 0 { bytes.append(0) }
            bytes[bytes.count - 1] |= UInt8(bit) << UInt8(used)
            used = (used + 1) % 8
        }
    }
}
