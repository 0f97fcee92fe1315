/// A `Range` field with one range of bytes (RFC 9110 §14.1.2, §14.2).
package enum RequestedRange: Sendable, Equatable {
    /// `bytes=500-999`, or `bytes=500-`, which extends to the end.
    case from(Int64, through: Int64?)
    /// `bytes=-500`: so many bytes at the end.
    case last(Int64)

    /// Returns nil for several ranges, for other units, and for a malformed value.
    package init?(_ value: String) {
        let sides = value.utf8.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
        guard sides.count == 2, sides[0].map(asciiLowercase).elementsEqual("bytes".utf8) else { return nil }
        let ends = sides[1].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        if ends[0].isEmpty {
            guard let count = ContentRange.number(ends[1]) else { return nil }
            self = .last(count)
            return
        }
        guard let first = ContentRange.number(ends[0]) else { return nil }
        if ends[1].isEmpty {
            self = .from(first, through: nil)
            return
        }
        guard let last = ContentRange.number(ends[1]), first <= last else { return nil }
        self = .from(first, through: last)
    }

    /// The range in a body of that length; nil if it contains no byte of it.
    package func bytes(of length: Int64) -> ClosedRange<Int64>? {
        switch self {
        case .from(let first, let last): first < length ? first...min(last ?? .max, length - 1) : nil
        case .last(let count): count > 0 && length > 0 ? max(0, length - count)...(length - 1) : nil
        }
    }
}
