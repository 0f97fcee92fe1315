/// A proxy auto-configuration (PAC) script.
package enum PACScript: Sendable, Hashable {
    /// An http or https URL (PROXY-6).
    case url(String)
    case source(PACScriptText)
}

/// The source of a PAC script. Used as part of cache keys and possibly long, so it is hashed once.
package struct PACScriptText: Sendable, Hashable {
    package let content: String
    private let fingerprint: Int

    package init(_ content: String) {
        self.content = content
        fingerprint = content.hashValue
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }
}

/// An external source of proxy settings that is queried for each destination.
package enum ExternalProxySource: Sendable, Hashable {
    case script(PACScript)
    /// The settings of the desktop, through libproxy.
    case desktop
}
