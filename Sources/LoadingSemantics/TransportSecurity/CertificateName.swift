/// Matches the names of a certificate with a host (RFC 9525 §6.3, §6.4).
enum CertificateName {
    /// Whether one of the names matches the host. An IP address matches only an iPAddress, a host name only a dNSName.
    ///
    /// - Parameters:
    ///  - host: As in `HTTPURL`.
    ///  - suffixes: Registry suffixes, directly below which no wildcard is accepted.
    static func isFor(
        _ host: String, _ names: [CertificateFacts.Name], suffixes: RegistrySuffixes
    ) -> Bool {
        if let address = address(host) { return names.contains(.address(address)) }
        // Text that looks like an IP address is not a host name.
        if CookieDomain.isAddress(host) { return false }
        let bare = host.utf8.last == UInt8(ascii: ".") ? String(Substring(host.utf8.dropLast())) : host
        return !bare.isEmpty
            && names.contains { if case .host(let pattern) = $0 { matches(bare, pattern, suffixes) } else { false } }
    }

    /// A wildcard replaces exactly the first label. At least two labels must follow, which must not be a registry
    /// suffix: no single owner has all names below one.
    private static func matches(_ host: String, _ pattern: String, _ suffixes: RegistrySuffixes) -> Bool {
        let host = host.utf8.map(asciiLowercase)
        let pattern = pattern.utf8.map(asciiLowercase)
        if pattern.starts(with: "*.".utf8) {
            let rest = pattern.dropFirst()
            guard rest.dropFirst().contains(UInt8(ascii: ".")), rest.last != UInt8(ascii: "."),
                let dot = host.firstIndex(of: UInt8(ascii: ".")), dot > 0
            else { return false }
            return host[dot...] == rest && !rest.contains(UInt8(ascii: "*"))
                && !suffixes.contains(String(decoding: rest.dropFirst(), as: UTF8.self))
        }
        return host == pattern && !pattern.contains(UInt8(ascii: "*"))
    }

    private static func address(_ host: String) -> [UInt8]? { IPAddressRange.bytes(String(host.prefix { $0 != "%" })) }
}
