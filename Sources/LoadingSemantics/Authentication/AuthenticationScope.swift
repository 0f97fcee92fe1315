/// The URLs for which credentials are sent preemptively, after they were accepted once (AUTH-26).
package struct AuthenticationScope: Sendable, Equatable {
    /// The number of URIs of a `domain` parameter that are considered.
    package static let maximumPrefixes = 32

    /// Prefixes of path and query.
    let prefixes: [[UInt8]]

    /// All URLs at or below the last path segment's directory (RFC 7617 §2.2).
    package static func basic(acceptedAt url: HTTPURL) -> AuthenticationScope {
        let path = path(of: url)
        let end = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? path.endIndex
        return AuthenticationScope(prefixes: [Array(path[..<end])])
    }

    /// The URIs of `domain`, or without one the whole server (RFC 7616 §3.3).
    ///
    /// URIs of other origins are ignored, because one server must not direct credentials to another.
    package static func digest(domain: String?, acceptedAt url: HTTPURL) -> AuthenticationScope {
        let addresses = (domain ?? "").split { $0 == " " || $0 == "\t" }.prefix(maximumPrefixes)
        if addresses.isEmpty { return AuthenticationScope(prefixes: [[UInt8(ascii: "/")]]) }
        return AuthenticationScope(
            prefixes: addresses.compactMap { address in
                if address.hasPrefix("/"), !address.hasPrefix("//") {
                    return Array(address.utf8.prefix { $0 != UInt8(ascii: "#") })
                }
                guard let other = try? HTTPURL(String(address)), other.isSameOrigin(as: url) else { return nil }
                return Array(other.target)
            })
    }

    /// The length of the longest matching prefix, or nil if the URL is outside. The caller has checked that the origin
    /// is the same.
    package func depth(of url: HTTPURL) -> Int? {
        // A server may resolve dot segments to another path. Such requests are sent without credentials, and challenged
        // if necessary.
        if Self.hasDotSegment(Self.path(of: url)) { return nil }
        return prefixes.filter { url.target.starts(with: $0) }.map(\.count).max()
    }

    private static func path(of url: HTTPURL) -> ArraySlice<UInt8> {
        url.target.prefix { $0 != UInt8(ascii: "?") }
    }

    /// Whether a segment is "." or "..", percent-encoded or not.
    private static func hasDotSegment(_ path: ArraySlice<UInt8>) -> Bool {
        path.split(separator: UInt8(ascii: "/")).contains { segment in
            let decoded = PercentEncoding.decode(segment) ?? Array(segment)
            return !decoded.isEmpty && decoded.count <= 2 && decoded.allSatisfy { $0 == UInt8(ascii: ".") }
        }
    }
}
