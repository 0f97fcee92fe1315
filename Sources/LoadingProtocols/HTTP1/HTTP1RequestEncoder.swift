package import LoadingSemantics

/// Writes requests in HTTP/1.1's form into a buffer of the caller's (RFC 9112).
///
/// It refuses what a server could read as another request, and knows nothing else of what a request should say.
package enum HTTP1RequestEncoder {
    /// Appends the request line, the fields and the empty line. On an error nothing is appended.
    ///
    /// `Host` goes first wherever it stands. The body alone decides how it is framed: `Content-Length` and
    /// `Transfer-Encoding` among the fields are left out, and the right one is added (MISC-5).
    ///
    /// - Parameter additional: Fields that come after the others; two blocks save the caller from joining them.
    package static func appendHead(
        method: String, target: HTTP1RequestTarget, body: HTTP1RequestBody, fields: HTTPFields,
        additional: HTTPFields = HTTPFields(), to bytes: inout [UInt8]
    ) throws(HTTP1EncodingError) {
        let start = bytes.count
        do {
            try appendRequestLine(method, target, to: &bytes)
            try appendHost(fields, additional, to: &bytes)
            try appendFields(fields, to: &bytes, leavingOut: Self.isWrittenApart)
            try appendFields(additional, to: &bytes, leavingOut: Self.isWrittenApart)
            try appendFraming(of: body, method: method, to: &bytes)
            append("\r\n", to: &bytes)
        } catch {
            bytes.removeLast(bytes.count &- start)
            throw error
        }
    }

    /// Appends what goes before the data of a chunk. An empty chunk would end the body, so 0 appends nothing.
    package static func appendChunkHead(_ count: Int, to bytes: inout [UInt8]) {
        guard count > 0 else { return }
        let nibbles = (Int.bitWidth &- count.leadingZeroBitCount &+ 3) / 4
        for nibble in (0..<nibbles).reversed() {
            let digit = UInt8(truncatingIfNeeded: count &>> (nibble &* 4)) & 0xF
            bytes.append(digit < 10 ? 0x30 &+ digit : 0x57 &+ digit)
        }
        append("\r\n", to: &bytes)
    }

    /// Appends what goes after the data of a chunk.
    package static func appendChunkEnd(to bytes: inout [UInt8]) {
        append("\r\n", to: &bytes)
    }

    /// Appends the end of a chunked body. On an error nothing is appended.
    package static func appendLastChunk(
        trailers: HTTPFields = HTTPFields(), to bytes: inout [UInt8]
    ) throws(HTTP1EncodingError) {
        let start = bytes.count
        append("0\r\n", to: &bytes)
        do {
            try appendFields(trailers, to: &bytes, leavingOut: Self.isWrittenApart)
        } catch {
            bytes.removeLast(bytes.count &- start)
            throw error
        }
        append("\r\n", to: &bytes)
    }

    // MARK: Request line

    private static func appendRequestLine(
        _ method: String, _ target: HTTP1RequestTarget, to bytes: inout [UInt8]
    ) throws(HTTP1EncodingError) {
        let methodStart = bytes.count
        bytes.append(contentsOf: method.utf8)
        guard bytes.count > methodStart, bytes[methodStart...].allSatisfy(Octet.isToken) else { throw .invalidMethod }
        bytes.append(Octet.space)
        let targetStart = bytes.count
        switch target {
        case .origin(let path, let query):
            appendPath(path, query, to: &bytes)
        case .absolute(let scheme, let authority, let path, let query):
            guard isAuthority(authority), !scheme.isEmpty else { throw .invalidTarget }
            bytes.append(contentsOf: scheme.utf8)
            append("://", to: &bytes)
            bytes.append(contentsOf: authority.utf8)
            appendPath(path, query, to: &bytes)
        case .authority(let authority):
            guard isAuthority(authority) else { throw .invalidTarget }
            bytes.append(contentsOf: authority.utf8)
        case .asterisk:
            append("*", to: &bytes)
        }
        // Visible ASCII without "#": a URL's characters, encoded as they have to be.
        guard bytes[targetStart...].allSatisfy({ $0 > Octet.space && $0 < 0x7F && $0 != 0x23 }) else {
            throw .invalidTarget
        }
        if case .origin = target, bytes[targetStart] != slash { throw .invalidTarget }
        append(" HTTP/1.1\r\n", to: &bytes)
    }

    private static func appendPath(_ path: String, _ query: String?, to bytes: inout [UInt8]) {
        if path.isEmpty { bytes.append(slash) } else { bytes.append(contentsOf: path.utf8) }
        if let query {
            bytes.append(0x3F)
            bytes.append(contentsOf: query.utf8)
        }
    }

    /// Not empty, and without what would begin user information or a path.
    private static func isAuthority(_ text: String) -> Bool {
        !text.isEmpty && !text.utf8.contains { $0 == 0x40 || $0 == slash || $0 == 0x3F }
    }

    private static let slash: UInt8 = 0x2F

    // MARK: Fields

    /// One of the three fields that the encoder places itself.
    @inline(__always)
    private static func isWrittenApart(_ name: UnsafeRawBufferPointer) -> Bool {
        switch name.count {
        case 4: name.matches("host", from: 0, to: 4)
        case 14: name.matches("content-length", from: 0, to: 14)
        case 17: name.matches("transfer-encoding", from: 0, to: 17)
        default: false
        }
    }

    private static func appendHost(
        _ fields: HTTPFields, _ additional: HTTPFields, to bytes: inout [UInt8]
    ) throws(HTTP1EncodingError) {
        let start = bytes.count
        let isOther = { (name: UnsafeRawBufferPointer) in !(name.count == 4 && name.matches("host", from: 0, to: 4)) }
        let count =
            try appendFields(fields, to: &bytes, leavingOut: isOther)
            &+ appendFields(additional, to: &bytes, leavingOut: isOther)
        if bytes.count == start { throw .missingHost }
        if count > 1 { throw .severalHosts }
    }

    /// Appends a line for each field whose name `isLeftOut` does not pick, and counts them.
    @inline(__always) @discardableResult
    private static func appendFields(
        _ fields: HTTPFields, to bytes: inout [UInt8], leavingOut isLeftOut: (UnsafeRawBufferPointer) -> Bool
    ) throws(HTTP1EncodingError) -> Int {
        var count = 0
        try fields.bytes.withUnsafeBufferPointer { block throws(HTTP1EncodingError) in
            // Every position lies inside the block: HTTPFields' own promise.
            let block = UnsafeRawBufferPointer(block)
            for position in fields.positions {
                let name = slice(block, position.nameStart, position.nameLength)
                if isLeftOut(name) { continue }
                let value = slice(block, position.valueStart, position.valueLength)
                guard !name.isEmpty, name.endOfToken(from: 0, to: name.count) == name.count else {
                    throw .invalidFieldName
                }
                guard value.endOfText(from: 0, to: value.count) == value.count else { throw .invalidFieldValue }
                bytes.append(contentsOf: name)
                append(": ", to: &bytes)
                bytes.append(contentsOf: value)
                append("\r\n", to: &bytes)
                count &+= 1
            }
        }
        return count
    }

    @inline(__always)
    private static func slice(_ block: UnsafeRawBufferPointer, _ start: UInt32, _ length: UInt32)
        -> UnsafeRawBufferPointer
    {
        UnsafeRawBufferPointer(rebasing: block[Int(start)..<(Int(start) &+ Int(length))])
    }

    private static func appendFraming(
        of body: HTTP1RequestBody, method: String, to bytes: inout [UInt8]
    ) throws(HTTP1EncodingError) {
        switch body {
        case .known(let count):
            if count < 0 { throw .negativeBodyLength }
            append("Content-Length: ", to: &bytes)
            bytes.append(contentsOf: String(count).utf8)
            append("\r\n", to: &bytes)
        case .chunked:
            append("Transfer-Encoding: chunked\r\n", to: &bytes)
        case .none:
            // A method that is meant to carry a body says that it has none (RFC 9110 §8.6).
            if method == "POST" || method == "PUT" || method == "PATCH" {
                append("Content-Length: 0\r\n", to: &bytes)
            }
        }
    }

    @inline(__always)
    private static func append(_ text: StaticString, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
