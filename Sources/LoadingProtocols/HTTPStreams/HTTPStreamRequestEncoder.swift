internal import CLoadingHTTP2
internal import LoadingSemantics

/// Makes of a request the list of fields that a stream begins with (RFC 9113 §8.3.1), on room that is used again.
///
/// It refuses what a server could read as another request. Fields that belong to one connection of HTTP/1 are left out,
/// with those that `Connection` names, as is `Host`; names are put into lower case when they are compressed.
struct HTTPStreamRequestEncoder {
    /// Bytes of all fields, with what compression may add. Servers take a fraction of it.
    static let maximumLength = 256 << 10

    private var list: [clh_field] = []
    /// What lies in no block of fields.
    private var text: [UInt8] = []
    /// The values of `Connection`, in the blocks of fields.
    private var connectionOptions: [UnsafeRawBufferPointer] = []
    /// The additional fields of an earlier request, and the parts of them that are sent. They are a session's, and so
    /// the same in most requests.
    private var knownFields = HTTPFields()
    private var knownParts: [FieldPart] = []

    /// A field in a block.
    private struct FieldPart {
        let name: Range<Int>
        let value: Range<Int>
        let isSecret: Bool
    }

    /// Calls `body` with the list, which is there during the call only.
    mutating func withFields<Result>(
        of request: HTTPStreamRequest, _ body: (UnsafeBufferPointer<clh_field>) -> Result
    ) throws(HTTPStreamRequestError) -> Result {
        list.removeAll(keepingCapacity: true)
        text.removeAll(keepingCapacity: true)
        if !connectionOptions.isEmpty { connectionOptions = [] }
        let parts = try appendText(of: request)
        // What is captured is copied, so not the whole request.
        let (text, first, second) = (text, request.fields, request.additional)
        return try Self.withOctets(text, first.bytes, second.bytes) {
            text, fields, additional throws(HTTPStreamRequestError) in
            list.append(field(":method", text, parts.method))
            if let part = parts.scheme { list.append(field(":scheme", text, part)) }
            list.append(field(":authority", text, parts.authority))
            if let part = parts.path { list.append(field(":path", text, part)) }
            if let part = parts.connectProtocol { list.append(field(":protocol", text, part)) }
            let start = list.count
            try append(first, in: fields)
            if isKnown(second, additional) {
                for part in knownParts { list.append(Self.field(part, in: additional)) }
            } else {
                let (start, optionCount) = (list.count, connectionOptions.count)
                try append(second, in: additional)
                if connectionOptions.count == optionCount { know(second, additional, list[start...]) }
            }
            if !connectionOptions.isEmpty { removeConnectionOptions(from: start) }
            if let part = parts.contentLength { list.append(field("content-length", text, part)) }
            // 32 octets a field is what compression may add at the very most.
            let length = list.reduce(64) { $0 &+ $1.name_length &+ $1.value_length &+ 32 }
            if length > Self.maximumLength { throw .headTooLong }
            return list.withUnsafeBufferPointer(body)
        }
    }

    // MARK: Pseudo-header fields

    private struct Parts {
        var method: Range<Int>
        var scheme: Range<Int>?
        var authority: Range<Int>
        var path: Range<Int>?
        var connectProtocol: Range<Int>?
        var contentLength: Range<Int>?
    }

    private mutating func appendText(
        of request: HTTPStreamRequest
    ) throws(HTTPStreamRequestError) -> Parts {
        let method = append(request.method)
        guard isToken(method) else { throw .invalidMethod }
        let authority: Range<Int>
        if let given = request.authority {
            authority = append(given)
        } else {
            authority = try appendHost(of: request)
        }
        // What would begin user information, a path or a query.
        guard isVisible(authority), !text[authority].contains(where: { $0 == 0x40 || $0 == 0x2F || $0 == 0x3F }) else {
            throw .invalidTarget
        }
        var parts = Parts(method: method, authority: authority)
        if request.method != "CONNECT" || request.connectProtocol != nil {
            let scheme = append(request.scheme)
            guard isToken(scheme) else { throw .invalidTarget }
            parts.scheme = scheme
            let start = text.count
            if request.path.isEmpty { text.append(0x2F) } else { text.append(contentsOf: request.path.utf8) }
            guard text[start] == 0x2F || (request.path == "*" && request.method == "OPTIONS") else {
                throw .invalidTarget
            }
            if let query = request.query {
                text.append(0x3F)
                text.append(contentsOf: query.utf8)
            }
            guard isVisible(start..<text.count) else { throw .invalidTarget }
            parts.path = start..<text.count
        }
        if let name = request.connectProtocol {
            let part = append(name)
            guard isToken(part) else { throw .invalidTarget }
            parts.connectProtocol = part
        }
        if let length = request.contentLength {
            if length < 0 { throw .negativeBodyLength }
            parts.contentLength = append(String(length))
        } else if !request.hasBody, request.method == "POST" || request.method == "PUT" || request.method == "PATCH" {
            // A method that anticipates a body is sent with Content-Length: 0 (RFC 9110 §8.6).
            parts.contentLength = append("0")
        }
        return parts
    }

    private mutating func append(_ part: String) -> Range<Int> {
        let start = text.count
        text.append(contentsOf: part.utf8)
        return start..<text.count
    }

    private mutating func appendHost(of request: HTTPStreamRequest) throws(HTTPStreamRequestError) -> Range<Int> {
        let first = try appendHost(in: request.fields)
        let second = try appendHost(in: request.additional)
        if first != nil, second != nil { throw .severalHosts }
        guard let host = first ?? second else { throw .missingHost }
        return host
    }

    private mutating func appendHost(in block: HTTPFields) throws(HTTPStreamRequestError) -> Range<Int>? {
        try Self.withOctets(block.bytes) { octets throws(HTTPStreamRequestError) in
            var found: Range<Int>?
            for position in block.positions {
                let start = Int(position.nameStart)
                guard octets.matches("host", from: start, to: start &+ Int(position.nameLength)) else { continue }
                if found != nil { throw .severalHosts }
                let textStart = text.count
                text.append(contentsOf: Self.value(position, in: octets))
                found = textStart..<text.count
            }
            return found
        }
    }

    private func isToken(_ part: Range<Int>) -> Bool {
        !part.isEmpty && text[part].allSatisfy(Octet.isToken)
    }

    /// Visible ASCII without "#": the characters of a URL, encoded as they have to be.
    private func isVisible(_ part: Range<Int>) -> Bool {
        !part.isEmpty && text[part].allSatisfy { $0 > Octet.space && $0 < 0x7F && $0 != 0x23 }
    }

    // MARK: Fields

    private mutating func append(
        _ block: HTTPFields, in octets: UnsafeRawBufferPointer
    ) throws(HTTPStreamRequestError) {
        for position in block.positions {
            // Every position lies inside the block: HTTPFields' own promise.
            let start = Int(position.nameStart)
            let end = start &+ Int(position.nameLength)
            guard start < end, octets.endOfToken(from: start, to: end) == end else { throw .invalidFieldName }
            let value = Self.value(position, in: octets)
            guard value.endOfText(from: 0, to: value.count) == value.count else { throw .invalidFieldValue }
            let name = UnsafeRawBufferPointer(rebasing: octets[start..<end])
            switch Self.treatment(of: name, value) {
            case .dropped: continue
            case .connection: connectionOptions.append(value)
            case .plain: list.append(Self.field(name, value, isSecret: false))
            case .secret: list.append(Self.field(name, value, isSecret: true))
            case .cookie: appendCrumbs(of: value, named: name)
            }
        }
    }

    /// Whether the fields are those that are known. Their memory is compared, not what it contains.
    private func isKnown(_ fields: HTTPFields, _ octets: UnsafeRawBufferPointer) -> Bool {
        guard knownFields.count == fields.count else { return false }
        return knownFields.bytes.withUnsafeBytes { $0.baseAddress == octets.baseAddress }
            && knownFields.positions.withUnsafeBytes { known in
                fields.positions.withUnsafeBytes { known.baseAddress == $0.baseAddress }
            }
    }

    private mutating func know(_ fields: HTTPFields, _ octets: UnsafeRawBufferPointer, _ list: ArraySlice<clh_field>) {
        guard let base = octets.baseAddress else { return }
        knownFields = fields
        knownParts.removeAll(keepingCapacity: true)
        for field in list {
            let name = UnsafeRawPointer(field.name) - base, value = UnsafeRawPointer(field.value) - base
            knownParts.append(
                FieldPart(
                    name: name..<name + field.name_length, value: value..<value + field.value_length,
                    isSecret: field.flags != 0))
        }
    }

    private enum Treatment {
        case plain
        case dropped
        /// The names of others that are dropped.
        case connection
        /// Never in a compression table, so that it cannot be guessed (RFC 7541 §7.1).
        case secret
        case cookie
    }

    private static func treatment(of name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Treatment {
        func isNamed(_ text: StaticString) -> Bool { name.matches(text, from: 0, to: name.count) }
        switch name.count {
        case 2: return isNamed("te") && !value.matches("trailers", from: 0, to: value.count) ? .dropped : .plain
        case 4: return isNamed("host") ? .dropped : .plain
        case 6: return isNamed("cookie") ? .cookie : .plain
        case 7: return isNamed("upgrade") ? .dropped : .plain
        case 10:
            if isNamed("keep-alive") { return .dropped }
            guard isNamed("connection") else { return .plain }
            // What nearly every request has names a field that is dropped anyway.
            return value.matches("keep-alive", from: 0, to: value.count) ? .dropped : .connection
        case 13: return isNamed("authorization") ? .secret : .plain
        case 14: return isNamed("content-length") ? .dropped : .plain
        case 16: return isNamed("proxy-connection") ? .dropped : .plain
        case 17: return isNamed("transfer-encoding") ? .dropped : .plain
        case 19: return isNamed("proxy-authorization") ? .secret : .plain
        default: return .plain
        }
    }

    /// Removes the fields that `Connection` names (RFC 9113 §8.2.2), except TE, which may be in every version.
    private mutating func removeConnectionOptions(from start: Int) {
        let names = connectionOptions.flatMap { value in
            value.split { $0 == Octet.comma || Octet.isWhitespace($0) }
                .map { String(decoding: $0, as: UTF8.self).lowercased() }
        }
        let kept = list[start...].filter { field in
            let name = UnsafeRawBufferPointer(start: field.name, count: field.name_length)
            let text = String(decoding: name, as: UTF8.self).lowercased()
            return text == "te" || !names.contains(text)
        }
        list.replaceSubrange(start..., with: kept)
    }

    /// Each cookie as a field of its own, so that those that did not change need not be sent again (RFC 9113 §8.2.3).
    /// Short ones could be guessed, and stay out of the tables.
    private mutating func appendCrumbs(of value: UnsafeRawBufferPointer, named name: UnsafeRawBufferPointer) {
        var start = 0
        while start < value.count {
            var end = start
            while end < value.count, value[end] != Octet.semicolon { end &+= 1 }
            // Blanks around a value have no place in this version.
            let length = value.startOfTrailingWhitespace(from: start, to: end) &- start
            if length > 0 {
                let crumb = UnsafeRawBufferPointer(rebasing: value[start..<start &+ length])
                list.append(Self.field(name, crumb, isSecret: crumb.count < 20))
            }
            start = value.endOfWhitespace(from: min(end &+ 1, value.count), to: value.count)
        }
    }

    /// Without whitespace around it, which has no place in this version.
    private static func value(
        _ position: HTTPFields.Position, in octets: UnsafeRawBufferPointer
    ) -> UnsafeRawBufferPointer {
        let end = Int(position.valueStart) &+ Int(position.valueLength)
        let start = octets.endOfWhitespace(from: Int(position.valueStart), to: end)
        return UnsafeRawBufferPointer(
            rebasing: octets[start..<octets.startOfTrailingWhitespace(from: start, to: end)])
    }

    private static func field(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isSecret: Bool
    ) -> clh_field {
        // nghttp2 copies both, and writes to neither.
        clh_field(
            name: UnsafeMutablePointer(mutating: name.assumingMemoryBound(to: UInt8.self).baseAddress),
            value: UnsafeMutablePointer(mutating: value.assumingMemoryBound(to: UInt8.self).baseAddress),
            name_length: name.count, value_length: value.count,
            flags: isSecret ? UInt8(CLH_NEVER_INDEXED) : 0)
    }

    private static func field(_ part: FieldPart, in octets: UnsafeRawBufferPointer) -> clh_field {
        field(
            UnsafeRawBufferPointer(rebasing: octets[part.name]), UnsafeRawBufferPointer(rebasing: octets[part.value]),
            isSecret: part.isSecret)
    }

    private func field(_ name: StaticString, _ text: UnsafeRawBufferPointer, _ part: Range<Int>) -> clh_field {
        Self.field(
            UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount),
            UnsafeRawBufferPointer(rebasing: text[part]), isSecret: false)
    }

    // MARK: Octets

    private static func withOctets<Result>(
        _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(HTTPStreamRequestError) -> Result
    ) throws(HTTPStreamRequestError) -> Result {
        try bytes.withUnsafeBufferPointer { octets throws(HTTPStreamRequestError) in
            try body(UnsafeRawBufferPointer(octets))
        }
    }

    private static func withOctets<Result>(
        _ first: [UInt8], _ second: [UInt8], _ third: [UInt8],
        _ body: (
            UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeRawBufferPointer
        ) throws(HTTPStreamRequestError) -> Result
    ) throws(HTTPStreamRequestError) -> Result {
        try withOctets(first) { first throws(HTTPStreamRequestError) in
            try withOctets(second) { second throws(HTTPStreamRequestError) in
                try withOctets(third) { third throws(HTTPStreamRequestError) in try body(first, second, third) }
            }
        }
    }
}
