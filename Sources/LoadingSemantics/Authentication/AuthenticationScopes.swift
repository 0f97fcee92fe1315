/// Maps URLs to the protection spaces whose credentials are sent preemptively (AUTH-26).
package struct AuthenticationScopes: Sendable {
    /// A server can send any number of realms, so the oldest entries are evicted.
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

    /// The oldest entry first.
    private var entries: [Server: [Entry]] = [:]
    private var count = 0

    package init() {}

    /// Records that the server accepted credentials at that URL.
    package mutating func add(_ scope: AuthenticationScope, of space: ProtectionSpace, at url: HTTPURL) {
        let server = Server(url)
        var known = entries[server] ?? []
        if known.contains(where: { $0.space == space && $0.scope == scope }) { return }
        if count >= Self.maximumCount {
            // Any other server will do: it sends a challenge again.
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

    /// Removes a space whose credentials were rejected or deleted.
    package mutating func remove(_ space: ProtectionSpace) {
        for (server, known) in entries {
            let left = known.filter { $0.space != space }
            if left.count == known.count { continue }
            count -= known.count - left.count
            entries[server] = left.isEmpty ? nil : left
        }
    }

    /// The space with the longest matching prefix; of several, the latest.
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
