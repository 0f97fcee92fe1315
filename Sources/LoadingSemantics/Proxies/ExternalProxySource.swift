/// An external source of proxy settings that is queried for each destination.
package enum ExternalProxySource: Sendable, Hashable {
    case script(ProxyScript)
    /// The settings of the desktop, through libproxy.
    case desktop
}
