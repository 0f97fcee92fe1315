/// The part of a server where credentials that it has accepted are sent unasked (AUTH-26).
package struct AuthenticationScope: Sendable, Equatable {
    /// How many addresses of a `domain` list count.
    package static let maximumPrefixes = 32

    /// Of path and query.
    let prefixes: [[UInt8]]

    /// Everything at or below the directory of a request that Basic credentials were accepted for (RFC 7617 §2.2).
    package static func basic(acceptedAt url: HTTPURL) -> AuthenticationScope {
        let path = path(of: url)
        let end = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? path.endIndex
        return AuthenticationScope(prefixes: [Array(path[..<end])])
    }

    /// What the `domain` list names, or all of the server without one (RFC 7616 §3.3).
    ///
    /// Addresses of other servers are left out: the one that answers has no say about what those are told.
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

    /// How much of the URL's path the scope covers, or nil if the URL lies outside. The URL is one of the same server.
    package func depth(of url: HTTPURL) -> Int? {
        // A dot segment leads elsewhere than the path says. Such a request is sent without, and asked.
        if Self.hasDotSegment(Self.path(of: url)) { return nil }
        return prefixes.filter { url.target.starts(with: $0) }.map(\.count).max()
    }

    private static func path(of url: HTTPURL) -> ArraySlice<UInt8> {
        url.target.prefix { $0 != UInt8(ascii: "?") }
    }

    /// Whether a segment is "." or "..", in any encoding.
    private static func hasDotSegment(_ path: ArraySlice<UInt8>) -> Bool {
        path.split(separator: UInt8(ascii: "/")).contains { segment in
            let decoded = PercentEncoding.decode(segment) ?? Array(segment)
            return !decoded.isEmpty && decoded.count <= 2 && decoded.allSatisfy { $0 == UInt8(ascii: ".") }
        }
    }
}
