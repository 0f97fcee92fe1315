/// What a server does next on one of its streams, as an input says it.
///
///     kind and stream, length, as many octets
struct HTTP3Piece {
    enum Kind {
        case bytes
        case end
        case reset
        case stop
    }

    var kind: Kind
    var stream: Int64
    var bytes: UnsafeRawBufferPointer

    private static let streams: [Int64] = [0, 4, 8, 3, 7, 11, 15, 12]

    /// Takes the next one off an input; nil at its end.
    init?(_ input: inout UnsafeRawBufferPointer) {
        guard input.count >= 2 else { return nil }
        stream = Self.streams[Int(input[0] & 7)]
        kind =
            switch input[0] >> 3 & 7 {
            case 0: .reset
            case 1: .stop
            case 2, 3: .end
            default: .bytes
            }
        let count = min(Int(input[1]), input.count - 2)
        bytes = UnsafeRawBufferPointer(rebasing: input[2..<(2 + count)])
        input = UnsafeRawBufferPointer(rebasing: input[(2 + count)...])
    }
}
