/// What is known of where credentials are wanted: from the URL of a request to the protection space whose credentials
/// it should carry unasked (AUTH-26).
package struct AuthenticationScopes: Sendable {
    /// A server can name any number of realms; the oldest are forgotten.
    package static let maximumCount = 256

    private struct Entry: Sendable {
        let space: ProtectionSpace
        var scope: AuthenticationScope
    }

    private struct Server: Sendable, Hashable {
        let isSecure: Bool
        let host: String
        let port: UInt16

        init(_ url: HTTPURL) {
            isSecure = url.scheme.isSecure
            host = url.host
            port = url.port
        }
    }

    /// The oldest first.
    private var entries: [Server: [Entry]] = [:]
    private var count = 0

    package init() {}

    /// Notes where credentials were accepted.
    package mutating func add(_ scope: AuthenticationScope, of space: ProtectionSpace, at url: HTTPURL) {
        let server = Server(url)
        var known = entries[server] ?? []
        if known.contains(where: { $0.space == space && $0.scope == scope }) { return }
        if count >= Self.maximumCount {
            // Which server loses its knowledge matters little: it will ask again.
            if known.isEmpty, let other = entries.keys.first {
                count -= entries.removeValue(forKey: other)?.count ?? 0
            } else if !known.isEmpty {
                known.removeFirst()
                count -= 1
            }
        }
        known.append(Entry(space: space, scope: scope))
        count += 1
        entries[server] = known
    }

    /// Forgets a space whose credentials were refused or removed.
    package mutating func remove(_ space: ProtectionSpace) {
        for (server, known) in entries {
            let left = known.filter { $0.space != space }
            if left.count == known.count { continue }
            count -= known.count - left.count
            entries[server] = left.isEmpty ? nil : left
        }
    }

    /// The space that covers the URL most closely; of several, the one noted last.
    package func space(of url: HTTPURL) -> ProtectionSpace? {
        if entries.isEmpty { return nil }
        var result: ProtectionSpace?
        var depth = -1
        for entry in entries[Server(url)] ?? [] {
            guard let own = entry.scope.depth(of: url), own >= depth else { continue }
            result = entry.space
            depth = own
        }
        return result
    }
}
