internal import CLoadingOctets

/// What stands between the method and the version in a request line (RFC 9112 §3.2).
///
/// A fragment and user information have no place here, so neither can be sent (MISC-27). Every part is already
/// percent-encoded.
package enum HTTP1RequestTarget: Sendable, Equatable {
    /// To a server: path and query.
    case origin(String)
    /// To a proxy: the URL without fragment and user information. `target` is its path and query.
    case absolute(scheme: String, authority: String, target: String)
    /// CONNECT: host and port.
    case authority(String)

    /// No fewer octets than `write` writes.
    var maximumLength: Int {
        switch self {
        case .origin(let target): target.utf8.count
        case .absolute(let scheme, let authority, let target):
            scheme.utf8.count &+ authority.utf8.count &+ target.utf8.count &+ 3
        case .authority(let authority): authority.utf8.count
        }
    }

    func write(to writer: inout OctetWriter) throws(HTTP1EncodingError) {
        let start = writer.count
        switch self {
        case .origin(let target): try Self.write(target: target, to: &writer)
        case .absolute(let scheme, let authority, let target):
            guard !scheme.isEmpty else { throw .invalidTarget }
            writer.append(text: scheme)
            writer.append("://")
            try Self.write(authority: authority, to: &writer)
            try Self.write(target: target, to: &writer)
        case .authority(let authority): try Self.write(authority: authority, to: &writer)
        }
        let target = writer.written(from: start)
        guard clo_end_of_set(target.octets, 0, target.count, clo_target_characters()) == target.count else {
            throw .invalidTarget
        }
    }

    private static func write(target: String, to writer: inout OctetWriter) throws(HTTP1EncodingError) {
        let start = writer.count
        writer.append(text: target)
        guard writer.written(from: start).first == 0x2F else { throw .invalidTarget }
    }

    /// Not empty, and without what would begin user information, a path or a query.
    private static func write(authority: String, to writer: inout OctetWriter) throws(HTTP1EncodingError) {
        let start = writer.count
        writer.append(text: authority)
        let octets = writer.written(from: start)
        guard !octets.isEmpty, !octets.contains(where: { $0 == 0x40 || $0 == 0x2F || $0 == 0x3F }) else {
            throw .invalidTarget
        }
    }
}
