import Foundation

/// Bodies whose octets follow from a number, so that each side can compute them.
enum Content {
    static func octet(_ number: Int, _ offset: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: (offset &* 31) ^ (offset >> 8) &+ number &* 17)
    }

    /// Of another body of the same resource.
    static func number(_ number: Int, version: Int) -> Int { number + version * 1000 }
    static func isVersion(_ content: Int, of number: Int) -> Bool { content % 1000 == number % 1000 }

    static func bytes(_ number: Int, _ range: Range<Int>) -> [UInt8] {
        Array(unsafeUninitializedCapacity: range.count) { buffer, count in
            for offset in range { buffer[offset - range.lowerBound] = octet(number, offset) }
            count = range.count
        }
    }

    static func isRight(_ number: Int, _ data: Data) -> Bool {
        data.withUnsafeBytes { bytes in
            // Without an early end, many octets are compared at once.
            var difference: UInt8 = 0
            for offset in bytes.indices { difference |= bytes[offset] ^ octet(number, offset) }
            return difference == 0
        }
    }
}
