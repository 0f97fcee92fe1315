/// What stands between the method and the version in a request line (RFC 9112 §3.2).
///
/// A fragment and user information have no place here, so neither can be sent (MISC-27). Every part is already
/// percent-encoded.
package enum HTTP1RequestTarget: Sendable, Equatable {
    /// To a server: path and query. An empty path is sent as "/".
    case origin(path: String, query: String?)
    /// To a proxy: the URL without fragment and user information.
    case absolute(scheme: String, authority: String, path: String, query: String?)
    /// CONNECT: host and port.
    case authority(String)
    /// OPTIONS for the server as a whole.
    case asterisk

    /// No fewer octets than `write` writes.
    var maximumLength: Int {
        switch self {
        case .origin(let path, let query):
            path.utf8.count &+ (query?.utf8.count ?? 0) &+ 2
        case .absolute(let scheme, let authority, let path, let query):
            scheme.utf8.count &+ authority.utf8.count &+ path.utf8.count &+ (query?.utf8.count ?? 0) &+ 5
        case .authority(let authority):
            authority.utf8.count
        case .asterisk:
            1
        }
    }

    func write(to writer: inout OctetWriter) throws(HTTP1EncodingError) {
        let start = writer.count
        switch self {
        case .origin(let path, let query):
            try Self.write(path, query, to: &writer)
        case .absolute(let scheme, let authority, let path, let query):
            guard !scheme.isEmpty else { throw .invalidTarget }
            writer.append(text: scheme)
            writer.append("://")
            try Self.write(authority, to: &writer)
            try Self.write(path, query, to: &writer)
        case .authority(let authority):
            try Self.write(authority, to: &writer)
        case .asterisk:
            writer.append("*")
        }
        // Visible ASCII without "#": the characters of a URL, encoded as they have to be.
        guard writer.written(from: start).allSatisfy({ $0 > Octet.space && $0 < 0x7F && $0 != 0x23 }) else {
            throw .invalidTarget
        }
    }

    private static func write(
        _ path: String, _ query: String?, to writer: inout OctetWriter
    ) throws(HTTP1EncodingError) {
        let start = writer.count
        if path.isEmpty { writer.append("/") } else { writer.append(text: path) }
        guard writer.written(from: start).first == 0x2F else { throw .invalidTarget }
        if let query {
            writer.append("?")
            writer.append(text: query)
        }
    }

    /// Not empty, and without what would begin user information, a path or a query.
    private static func write(_ authority: String, to writer: inout OctetWriter) throws(HTTP1EncodingError) {
        let start = writer.count
        writer.append(text: authority)
        let octets = writer.written(from: start)
        guard !octets.isEmpty, !octets.contains(where: { $0 == 0x40 || $0 == 0x2F || $0 == 0x3F }) else {
            throw .invalidTarget
        }
    }
}
