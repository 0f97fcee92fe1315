/// An absolute http or https URL, cut into what a connection and a request line need.
package struct HTTPURL: Sendable, Equatable {
    /// The whole, as given.
    package let text: String
    package let isSecure: Bool
    /// Lower-case name, or an address literal without brackets.
    package let host: String
    package let port: UInt16
    /// Path and query, "/" for an empty path; never the fragment (MISC-27).
    package let target: String
    /// What the Host field says: the port only when it is not the scheme's own.
    package let authority: String
    /// `user:password` as it stands in the URL, or nil.
    package let userInformation: String?

    /// Throws `unsupportedURL` for another scheme, `badURL` for a URL without host or with a bad port.
    package init(_ text: String) throws(LoadError) {
        self.text = text
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { throw .unsupportedURL }
        switch text[..<colon].lowercased() {
        case "http": isSecure = false
        case "https": isSecure = true
        default: throw .unsupportedURL
        }
        var rest = bytes[bytes.index(after: colon)...]
        guard rest.starts(with: "//".utf8) else { throw .badURL("no host") }
        rest = rest.dropFirst(2)
        let end = rest.firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 } ?? rest.endIndex
        var location = rest[..<end]
        if let at = location.lastIndex(of: UInt8(ascii: "@")) {
            userInformation = String(location[..<at])
            location = location[location.index(after: at)...]
        } else {
            userInformation = nil
        }

        let standardPort: UInt16 = isSecure ? 443 : 80
        var hostBytes = location
        var portBytes: Substring.UTF8View?
        let isLiteral = location.first == UInt8(ascii: "[")
        if isLiteral {
            guard let bracket = location.firstIndex(of: UInt8(ascii: "]")) else {
                throw .badURL("an address without its bracket")
            }
            hostBytes = location[location.index(after: location.startIndex)..<bracket]
            let after = location[location.index(after: bracket)...]
            if !after.isEmpty {
                guard after.first == UInt8(ascii: ":") else { throw .badURL("what follows the address") }
                portBytes = after.dropFirst()
            }
        } else if let colon = location.firstIndex(of: UInt8(ascii: ":")) {
            hostBytes = location[..<colon]
            portBytes = location[location.index(after: colon)...]
        }
        if let portBytes, !portBytes.isEmpty {
            guard portBytes.count <= 5, portBytes.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
                let number = UInt16(Substring(portBytes)), number > 0
            else { throw .badURL("the port") }
            port = number
        } else {
            port = standardPort
        }
        guard !hostBytes.isEmpty, !hostBytes.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
            throw .badURL("no host")
        }
        let name = Substring(hostBytes)
        host = hostBytes.contains { $0 >= 0x41 && $0 <= 0x5A } ? name.lowercased() : String(name)
        let shown = isLiteral ? "[\(host.split(separator: "%").first ?? "")]" : host
        authority = port == standardPort ? shown : "\(shown):\(port)"

        var path = rest[end...]
        if let fragment = path.firstIndex(of: UInt8(ascii: "#")) { path = path[..<fragment] }
        if path.isEmpty {
            target = "/"
        } else if path.first == UInt8(ascii: "?") {
            target = "/" + Substring(path)
        } else {
            target = String(Substring(path))
        }
    }
}
