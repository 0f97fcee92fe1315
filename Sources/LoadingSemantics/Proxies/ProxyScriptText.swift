/// The source of a PAC script. Used as part of cache keys and possibly long, so it is hashed once.
package struct ProxyScriptText: Sendable, Hashable {
    package let content: String
    private let fingerprint: Int

    package init(_ content: String) {
        self.content = content
        fingerprint = content.hashValue
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }
}
