internal import LoadingSemantics

/// A head that lies whole in one buffer and has no folded field and no bare CR: nearly every head there is.
///
/// Reads it in one pass and in place. Whatever is not plain (more bytes needed, a fold, a mistake, a limit) is left
/// to `HTTP1FieldSection`, which alone decides what is an error.
struct HTTP1PlainHead {
    var statusLine: HTTP1StatusLine
    var positions: [HTTPFields.Position]
    var byteCount: Int

    init?(_ bytes: UnsafeRawBufferPointer, limits: HTTP1Limits) {
        // Every index below is compared with `end`, which lies inside `bytes`, before it is read.
        let end = min(bytes.count, limits.maximumHeadLength)
        var index = bytes.endOfText(from: 0, to: end)
        guard let line = try? HTTP1StatusLine(bytes, end: index),
            let fieldsStart = Self.lineEnd(bytes, at: index, end: end)
        else { return nil }
        statusLine = line
        index = fieldsStart
        positions = []
        positions.reserveCapacity(16)
        while true {
            let nameStart = index
            index = bytes.endOfToken(from: nameStart, to: end)
            guard index < end else { return nil }
            if index == nameStart {
                guard let headEnd = Self.lineEnd(bytes, at: index, end: end) else { return nil }
                byteCount = headEnd
                return
            }
            guard bytes[index] == Octet.colon, positions.count < limits.maximumFieldCount else { return nil }
            let nameEnd = index
            let valueStart = bytes.endOfWhitespace(from: nameEnd &+ 1, to: end)
            index = bytes.endOfText(from: valueStart, to: end)
            let valueEnd = bytes.startOfTrailingWhitespace(from: valueStart, to: index)
            guard let next = Self.lineEnd(bytes, at: index, end: end) else { return nil }
            positions.append(
                HTTPFields.Position(
                    nameStart: nameStart, nameLength: nameEnd &- nameStart,
                    valueStart: valueStart, valueLength: valueEnd &- valueStart))
            index = next
        }
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
