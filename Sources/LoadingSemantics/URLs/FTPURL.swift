/// An absolute URL of FTP (RFC 1738 §3.2), cut into what is said to a server.
package struct FTPURL: Sendable, Equatable {
    /// What `;type=` asks for.
    package enum TransferType: UInt8, Sendable {
        /// The bytes as they are; also without `;type=`.
        case image
        /// Text, whose line ends the server makes CR LF.
        case ascii
        /// The names in a directory.
        case names
    }

    /// The same as a proxy is asked for it that loads it itself. Host, port and user are written as in a URL of HTTP.
    package let place: HTTPURL
    /// The directories to change to, one after the other. The first is relative to where the user begins.
    package let directories: [[UInt8]]
    /// Of the file in the last of them; empty for the directory itself.
    package let name: [UInt8]
    package let type: TransferType

    /// Lower-case ASCII, without brackets; the zone of an IPv6 address follows after "%".
    package var host: String { place.host }
    package var port: UInt16 { place.port }
    package var isDirectory: Bool { name.isEmpty }

    /// User and password, decoded; nil if the URL names no user.
    package var credential: (user: String, password: String?)? {
        place.credential.flatMap { $0.user.isEmpty ? nil : $0 }
    }

    /// Reads the text of an absolute URL, or says why it cannot be loaded. What would end a line of the control connection
    /// has no place in a name, so nothing that was decoded can become a command of its own.
    package init(_ text: String) throws(HTTPURL.Failure) {
        place = try HTTPURL(text, isFTP: true)
        // FTP knows no query.
        var path = place.target.prefix { $0 != UInt8(ascii: "?") }.dropFirst()
        var type = TransferType.image
        if let found = Self.type(at: path) {
            type = found
            path = path.dropLast(Self.typeLength)
        }
        var parts: [[UInt8]] = []
        for part in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let name = PercentEncoding.decode(part), name.allSatisfy(Self.isPlain) else { throw .badCharacter }
            parts.append(name)
        }
        var name = parts.popLast() ?? []
        // "//" at the start is the root, elsewhere it says nothing.
        let isAbsolute = parts.first?.isEmpty == true
        parts.removeAll(where: \.isEmpty)
        if isAbsolute { parts.insert([UInt8(ascii: "/")], at: 0) }
        if type == .names, !name.isEmpty {
            parts.append(name)
            name = []
        }
        if let credential = place.credential {
            let words = Array((credential.user + (credential.password ?? "")).utf8)
            guard words.allSatisfy(Self.isPlain) else { throw .badCharacter }
        }
        directories = parts
        self.name = name
        self.type = type
    }

    private static let typeLength = 7

    private static func type(at path: ArraySlice<UInt8>) -> TransferType? {
        guard path.count >= typeLength else { return nil }
        let end = path.suffix(typeLength).map(asciiLowercase)
        guard end.starts(with: ";type=".utf8) else { return nil }
        return switch end.last {
        case UInt8(ascii: "i"): .image
        case UInt8(ascii: "a"): .ascii
        case UInt8(ascii: "d"): .names
        default: nil
        }
    }

    /// Neither CR nor LF nor NUL.
    private static func isPlain(_ byte: UInt8) -> Bool { byte != 0x0D && byte != 0x0A && byte != 0 }
}
