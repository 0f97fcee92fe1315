/// Who has to be asked which way to go before the settings can tell.
package enum ExternalProxySource: Sendable, Hashable {
    case script(ProxyScript)
    /// What knows the settings of the desktop.
    case desktop
}
