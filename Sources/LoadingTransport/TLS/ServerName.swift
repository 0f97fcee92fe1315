internal import CLoadingTLS

/// The host that a certificate must be made out to.
enum ServerName: Hashable, Sendable {
    case name(String)
    /// The 4 or 16 bytes of an IP address.
    case address([UInt8])

    /// Takes a host as it stands in a URL: an IPv6 address may have brackets and a zone, a name may have a final dot,
    /// and neither belongs to what a certificate says.
    init?(host: String) {
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
}
