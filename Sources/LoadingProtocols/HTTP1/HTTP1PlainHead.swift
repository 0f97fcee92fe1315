internal import CLoadingOctets
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
            case let fieldsStart = clo_end_of_line(bytes.octets, index, end), fieldsStart > 0
        else { return nil }
        let capacity = min(Self.maximumFieldCount, limits.maximumFieldCount)
        let cut: (positions: [HTTPFields.Position], byteCount: Int)? = withUnsafeTemporaryAllocation(
            of: HTTPFields.Position.self, capacity: Self.maximumFieldCount
        ) { room in
            // A position is what `clo_field` is in C.
            let fields = UnsafeMutableRawPointer(room.baseAddress)?.assumingMemoryBound(to: clo_field.self)
            var count = 0
            let headEnd = clo_split_fields(bytes.octets, fieldsStart, end, fields, capacity, &count)
            guard headEnd > 0 else { return nil }
            return ([HTTPFields.Position](UnsafeMutableBufferPointer(rebasing: room[..<count])), headEnd)
        }
        guard let cut else { return nil }
        statusLine = line
        positions = cut.positions
        byteCount = cut.byteCount
    }
}
