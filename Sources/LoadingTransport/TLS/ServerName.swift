internal import CLoadingTLS

/// The reference identity that a certificate must match (RFC 9525).
package enum ServerName: Hashable, Sendable {
    case name(String)
    /// The 4 or 16 bytes of an IP address.
    case address([UInt8])

    /// Accepts a host as in a URL. Brackets and zone of an IPv6 address and a final dot are removed, because
    /// certificates do not contain them.
    package init?(host: String) {
        var text = host[...]
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        var bytes = [UInt8](repeating: 0, count: 16)
        let unzoned = text.prefix { $0 != "%" }
        let count = clt_address(String(unzoned), &bytes)
        if count > 0 {
            self = .address(Array(bytes.prefix(count)))
            return
        }
        if text.hasSuffix(".") { text = text.dropLast() }
        guard !text.isEmpty, !text.utf8.contains(0) else { return nil }
        self = .name(String(text))
    }

    /// The name that is sent to the server (SNI); nil for an address, which must not be sent (RFC 6066 §3).
    package var indication: String? {
        if case .name(let name) = self { name } else { nil }
    }
}
