/// A proxy auto-configuration (PAC) script.
package enum ProxyScript: Sendable, Hashable {
    /// An http or https URL (PROXY-6).
    case url(String)
    case source(ProxyScriptText)
}
