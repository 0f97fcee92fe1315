package import LoadingSemantics

/// Writes requests in HTTP/1.1's form into a buffer of the caller's (RFC 9112).
///
/// It refuses fields that a server could parse as another request (request smuggling), and has no other rules about
/// requests.
package enum HTTP1RequestEncoder {
    /// Appends the request line, the fields and the empty line. On an error nothing is appended.
    ///
    /// `Host` goes first wherever it stands. The body alone decides how it is framed: `Content-Length` and
    /// `Transfer-Encoding` among the fields are left out, and the right one is added (MISC-5).
    ///
    /// - Parameters:
    ///   - additional: Fields that come after the others; two blocks save the caller from joining them.
    ///   - lines: Their lines, from `lines(of:)`; empty if they have not been made.
    package static func appendHead(
        method: String, target: HTTP1RequestTarget, body: HTTP1RequestBody, fields: HTTPFields,
        additional: HTTPFields = HTTPFields(), lines: [UInt8] = [], to bytes: inout [UInt8]
    ) throws(HTTP1EncodingError) {
        // The request line's and the framing's constant parts are shorter than 96 octets together.
        let additionalLength = lines.isEmpty ? length(of: additional) : lines.count
        let bound = method.utf8.count &+ target.maximumLength &+ length(of: fields) &+ additionalLength &+ 96
        try OctetWriter.append(to: &bytes, atMost: bound) { writer throws(HTTP1EncodingError) in
            writer.append(text: method)
            let name = writer.written(from: 0)
            guard !name.isEmpty, name.endOfToken(from: 0, to: name.count) == name.count else { throw .invalidMethod }
            writer.append(" ")
            try target.write(to: &writer)
            writer.append(" HTTP/1.1\r\n")
            let hosts =
                try appendFields(fields, to: &writer) { isHost($0) }
                &+ (lines.isEmpty ? appendFields(additional, to: &writer) { isHost($0) } : 0)
            if hosts == 0 { throw .missingHost }
            if hosts > 1 { throw .severalHosts }
            try appendFields(fields, areNamesChecked: true, to: &writer) { !isHost($0) && !isFraming($0) }
            if lines.isEmpty {
                try appendFields(additional, areNamesChecked: true, to: &writer) { !isHost($0) && !isFraming($0) }
            } else {
                lines.withUnsafeBytes { writer.append($0) }
            }
            try appendFraming(of: body, method: method, to: &writer)
            writer.append("\r\n")
        }
    }

    /// The lines of fields that many requests have, checked once. Empty if one of the fields cannot be sent, is `Host`,
    /// or frames a body.
    package static func lines(of fields: HTTPFields) -> [UInt8] {
        var bytes: [UInt8] = []
        let isWhole: Void? = try? OctetWriter.append(to: &bytes, atMost: length(of: fields)) {
            writer throws(HTTP1EncodingError) in
            let count = try appendFields(fields, to: &writer) { !isHost($0) && !isFraming($0) }
            if count < fields.count { throw .invalidFieldName }
        }
        return isWhole == nil ? [] : bytes
    }

    /// Appends what goes before the data of a chunk. An empty chunk would end the body, so 0 appends nothing.
    package static func appendChunkHead(_ count: Int, to bytes: inout [UInt8]) {
        guard count > 0 else { return }
        let nibbles = (Int.bitWidth &- count.leadingZeroBitCount &+ 3) / 4
        for nibble in (0..<nibbles).reversed() {
            let digit = UInt8(truncatingIfNeeded: count &>> (nibble &* 4)) & 0xF
            bytes.append(digit < 10 ? 0x30 &+ digit : 0x57 &+ digit)
        }
        appendChunkEnd(to: &bytes)
    }

    /// Appends what goes after the data of a chunk.
    package static func appendChunkEnd(to bytes: inout [UInt8]) {
        bytes.append(Octet.carriageReturn)
        bytes.append(Octet.lineFeed)
    }

    /// Appends the end of a chunked body, without trailers.
    package static func appendLastChunk(to bytes: inout [UInt8]) { bytes += "0\r\n\r\n".utf8 }

    @inline(__always)
    private static func isHost(_ name: UnsafeRawBufferPointer) -> Bool {
        name.matches("host", from: 0, to: name.count)
    }

    @inline(__always)
    private static func isFraming(_ name: UnsafeRawBufferPointer) -> Bool {
        name.matches("content-length", from: 0, to: name.count)
            || name.matches("transfer-encoding", from: 0, to: name.count)
    }

    /// Octets of all the field lines.
    private static func length(of fields: HTTPFields) -> Int {
        // Not `reduce`, which takes long in debug builds.
        var length = 0
        for index in 0..<fields.count {
            let position = fields.positions[index]
            length &+= Int(position.nameLength) &+ Int(position.valueLength) &+ 4
        }
        return length
    }

    /// Writes a line for each field whose name is `wanted`, and counts them.
    ///
    /// - Parameter areNamesChecked: Whether an earlier pass over the same fields has checked all names.
    @inline(__always) @discardableResult
    private static func appendFields(
        _ fields: HTTPFields, areNamesChecked: Bool = false, to writer: inout OctetWriter,
        where isWanted: (UnsafeRawBufferPointer) -> Bool
    ) throws(HTTP1EncodingError) -> Int {
        try fields.bytes.withUnsafeBufferPointer { octets throws(HTTP1EncodingError) in
            // Every position lies inside the block: HTTPFields' own promise.
            let block = UnsafeRawBufferPointer(octets)
            var count = 0
            for position in fields.positions {
                let name = slice(block, position.nameStart, position.nameLength)
                guard areNamesChecked || !name.isEmpty && name.endOfToken(from: 0, to: name.count) == name.count else {
                    throw .invalidFieldName
                }
                guard isWanted(name) else { continue }
                let value = slice(block, position.valueStart, position.valueLength)
                guard value.endOfText(from: 0, to: value.count) == value.count else { throw .invalidFieldValue }
                writer.append(name)
                writer.append(": ")
                writer.append(value)
                writer.append("\r\n")
                count &+= 1
            }
            return count
        }
    }

    @inline(__always)
    private static func slice(
        _ block: UnsafeRawBufferPointer, _ start: UInt32, _ length: UInt32
    ) -> UnsafeRawBufferPointer {
        block.part(from: Int(start), count: Int(length))
    }

    private static func appendFraming(
        of body: HTTP1RequestBody, method: String, to writer: inout OctetWriter
    ) throws(HTTP1EncodingError) {
        switch body {
        case .known(let count):
            if count < 0 { throw .negativeBodyLength }
            writer.append("Content-Length: ")
            writer.append(text: String(count))
            writer.append("\r\n")
        case .chunked:
            writer.append("Transfer-Encoding: chunked\r\n")
        case .none:
            // A method that anticipates a body is sent with Content-Length: 0 (RFC 9110 §8.6).
            if method == "POST" || method == "PUT" || method == "PATCH" { writer.append("Content-Length: 0\r\n") }
        }
    }
}

/// Why a request was not written. Each would let the sender's data say something the sender did not mean.
package enum HTTP1EncodingError: Error, Equatable, Sendable {
    /// Not a token.
    case invalidMethod
    /// Empty, or holds whitespace, a control character, a fragment or anything else that is no part of the target.
    case invalidTarget
    /// Not a token.
    case invalidFieldName
    /// Holds CR, LF or NUL.
    case invalidFieldValue
    case missingHost
    case severalHosts
    case negativeBodyLength
}

/// How a request's body is framed.
package enum HTTP1RequestBody: Sendable, Equatable {
    case none
    /// `Content-Length`.
    case known(Int64)
    /// `Transfer-Encoding: chunked`, for a stream of unknown length.
    case chunked
}
