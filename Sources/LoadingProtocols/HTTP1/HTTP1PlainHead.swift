internal import LoadingSemantics

/// A head that lies whole in one buffer, without a folded field: nearly every head there is.
///
/// Reads it in one pass and in place. Whatever is not plain (more bytes needed, a fold, a mistake, a limit) is left
/// to `HTTP1FieldSection`, which alone decides what is an error.
struct HTTP1PlainHead {
    var statusLine: HTTP1StatusLine
    var positions: [HTTPFields.Position]
    var byteCount: Int

    /// As many fields are cut on the stack (1 KiB), so that the array is allocated once and just large enough.
    private static let maximumFieldCount = 64

    init?(_ bytes: UnsafeRawBufferPointer, limits: HTTP1Limits) {
        // Every index below is compared with `end`, which lies inside `bytes`, before it is read.
        let end = min(bytes.count, limits.maximumHeadLength)
        let index = bytes.endOfText(from: 0, to: end)
        guard let line = try? HTTP1StatusLine(bytes, end: index),
            let fieldsStart = Self.lineEnd(bytes, at: index, end: end)
        else { return nil }
        let capacity = min(Self.maximumFieldCount, limits.maximumFieldCount)
        let cut: (positions: [HTTPFields.Position], byteCount: Int)? = withUnsafeTemporaryAllocation(
            of: HTTPFields.Position.self, capacity: Self.maximumFieldCount
        ) { room in
            var count = 0
            var index = fieldsStart
            while true {
                let nameStart = index
                index = bytes.endOfToken(from: nameStart, to: end)
                guard index < end else { return nil }
                if index == nameStart {
                    guard let headEnd = Self.lineEnd(bytes, at: index, end: end) else { return nil }
                    return ([HTTPFields.Position](UnsafeMutableBufferPointer(rebasing: room[..<count])), headEnd)
                }
                guard bytes[index] == Octet.colon, count < capacity else { return nil }
                let nameEnd = index
                let valueStart = bytes.endOfWhitespace(from: nameEnd &+ 1, to: end)
                index = bytes.endOfText(from: valueStart, to: end)
                let valueEnd = bytes.startOfTrailingWhitespace(from: valueStart, to: index)
                guard let next = Self.lineEnd(bytes, at: index, end: end) else { return nil }
                room.initializeElement(
                    at: count,
                    to: HTTPFields.Position(
                        nameStart: nameStart, nameLength: nameEnd &- nameStart,
                        valueStart: valueStart, valueLength: valueEnd &- valueStart))
                count &+= 1
                index = next
            }
        }
        guard let cut else { return nil }
        statusLine = line
        positions = cut.positions
        byteCount = cut.byteCount
    }

    /// The index after a CRLF or LF at `index`, or nil.
    @inline(__always)
    private static func lineEnd(_ bytes: UnsafeRawBufferPointer, at index: Int, end: Int) -> Int? {
        guard index < end else { return nil }
        if bytes[index] == Octet.lineFeed { return index &+ 1 }
        guard bytes[index] == Octet.carriageReturn, index &+ 1 < end, bytes[index &+ 1] == Octet.lineFeed else {
            return nil
        }
        return index &+ 2
    }
}
