internal import LoadingSemantics

/// The body's length and the connection's persistence, from a header section (RFC 9112 §6.3 and §9.3).
struct HTTP1Framing {
    enum ContentLength {
        case absent
        case value(Int64)
        case malformed
        case conflicting
    }

    private(set) var contentLength = ContentLength.absent
    private(set) var asksToClose = false
    private(set) var asksToKeepAlive = false
    private var chunkedCount = 0
    /// `identity`, which was a coding until RFC 7230.
    private var namesIdentity = false
    /// Any coding but `chunked`. No request allows one, so the body cannot be decoded.
    /// `chunked` with parameters is another one: it has none (RFC 9112 §7.1).
    private var hasUnsupportedCoding = false

    /// Every position lies inside `bytes`.
    init(_ bytes: UnsafeRawBufferPointer, _ positions: [HTTPFields.Position]) {
        // Iterators take long in debug builds.
        var index = 0
        while index < positions.count {
            let position = positions[index]
            index &+= 1
            // The three names differ in length; nothing else is looked at.
            switch position.nameLength {
            case 10 where Self.isNamed("connection", position, bytes): readConnection(bytes, position)
            case 14 where Self.isNamed("content-length", position, bytes): readContentLength(bytes, position)
            case 17 where Self.isNamed("transfer-encoding", position, bytes): readTransferEncoding(bytes, position)
            default: break
            }
        }
    }

    /// The body's length for a response that may have one, and whether its framing leaves the connection reusable.
    ///
    /// `Transfer-Encoding` wins over `Content-Length`, but a message with both, with `chunked` twice, with `identity`,
    /// or of version 1.0, may be read otherwise by an intermediary: the connection ends with it.
    func bodyLength(minorVersion: Int) throws(HTTP1ParseError) -> (length: HTTP1BodyLength, mayReuse: Bool) {
        if hasUnsupportedCoding { throw .unsupportedTransferCoding }
        if chunkedCount > 0 {
            if case .absent = contentLength, chunkedCount == 1, !namesIdentity, minorVersion > 0 {
                return (.chunked, true)
            }
            return (.chunked, false)
        }
        switch contentLength {
        case .absent: return (.untilClose, false)
        case .value(let value): return (.known(value), !namesIdentity)
        case .malformed: throw .malformedContentLength
        case .conflicting: throw .conflictingContentLengths
        }
    }

    /// Whether the peer lets the connection live on: by default in version 1.1, on demand in 1.0.
    func keepsConnection(minorVersion: Int) -> Bool {
        !asksToClose && (minorVersion > 0 || asksToKeepAlive)
    }

    @inline(__always)
    private static func isNamed(
        _ name: StaticString, _ position: HTTPFields.Position, _ bytes: UnsafeRawBufferPointer
    ) -> Bool {
        let start = Int(position.nameStart)
        return bytes.matches(name, from: start, to: start &+ Int(position.nameLength))
    }

    private mutating func readConnection(_ bytes: UnsafeRawBufferPointer, _ position: HTTPFields.Position) {
        Self.forEachElement(of: position, in: bytes) { start, end in
            if bytes.matches("close", from: start, to: end) { asksToClose = true }
            if bytes.matches("keep-alive", from: start, to: end) { asksToKeepAlive = true }
        }
    }

    /// One number, or the same number several times, as proxies that join equal fields make it.
    private mutating func readContentLength(_ bytes: UnsafeRawBufferPointer, _ position: HTTPFields.Position) {
        Self.forEachElement(of: position, in: bytes) { start, end in
            guard let number = Self.number(bytes, from: start, to: end) else {
                contentLength = .malformed
                return
            }
            switch contentLength {
            case .absent: contentLength = .value(number)
            case .value(let before) where before != number: contentLength = .conflicting
            default: break
            }
        }
    }

    private mutating func readTransferEncoding(_ bytes: UnsafeRawBufferPointer, _ position: HTTPFields.Position) {
        Self.forEachElement(of: position, in: bytes) { start, end in
            if start == end { return }
            if bytes.matches("chunked", from: start, to: end) {
                chunkedCount &+= 1
            } else if bytes.matches("identity", from: start, to: end) {
                namesIdentity = true
            } else {
                hasUnsupportedCoding = true
            }
        }
    }

    /// Digits only, no more than `Int64` holds.
    private static func number(_ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Int64? {
        guard start < end else { return nil }
        var result: Int64 = 0
        for index in start..<end {
            let digit = bytes[index] &- 0x30
            guard digit < 10 else { return nil }
            let (product, overflowed) = result.multipliedReportingOverflow(by: 10)
            let (sum, overflowedAgain) = product.addingReportingOverflow(Int64(digit))
            if overflowed || overflowedAgain { return nil }
            result = sum
        }
        return result
    }

    /// Calls `body` with the bounds of every element of a comma-separated value, empty ones too, without whitespace.
    @inline(__always)
    private static func forEachElement(
        of position: HTTPFields.Position, in bytes: UnsafeRawBufferPointer, _ body: (_ start: Int, _ end: Int) -> Void
    ) {
        var index = Int(position.valueStart)
        let valueEnd = index &+ Int(position.valueLength)
        while true {
            let start = bytes.endOfWhitespace(from: index, to: valueEnd)
            index = start
            while index < valueEnd, bytes[index] != Octet.comma { index &+= 1 }
            body(start, bytes.startOfTrailingWhitespace(from: start, to: index))
            guard index < valueEnd else { return }
            index &+= 1
        }
    }
}
