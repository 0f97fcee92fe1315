/// What stands in a script that picks proxies. Many questions are looked up by it, and it may be long, so it is read through once.
package struct ProxyScriptText: Sendable, Hashable {
    package let content: String
    private let fingerprint: Int

    package init(_ content: String) {
        self.content = content
        fingerprint = content.hashValue
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }
}
