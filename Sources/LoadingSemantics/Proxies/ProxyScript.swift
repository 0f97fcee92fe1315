/// A script that picks the proxies (PAC).
package enum ProxyScript: Sendable, Hashable {
    /// Where it is: an address of HTTP (PROXY-6).
    case url(String)
    case source(ProxyScriptText)
}
