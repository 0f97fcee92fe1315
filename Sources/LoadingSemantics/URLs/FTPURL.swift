/// A parsed absolute FTP URL (RFC 1738 §3.2).
package struct FTPURL: Sendable, Equatable {
    /// The transfer type (`;type=`).
    package enum TransferType: UInt8, Sendable {
        /// Binary; also the default.
        case image
        /// Text with CR LF line breaks, converted by the server.
        case ascii
        /// The names in a directory.
        case names
    }

    /// The URL as an HTTP proxy receives it. Host, port and userinfo have the same syntax as in an HTTP URL.
    package let httpURL: HTTPURL
    /// The directories to change to, in order. The first is relative to the login directory.
    package let directories: [[UInt8]]
    /// The name of the file; empty for a directory listing.
    package let name: [UInt8]
    package let type: TransferType

    /// Lower-case ASCII, without brackets. The zone of an IPv6 address follows "%".
    package var host: String { httpURL.host }
    package var port: UInt16 { httpURL.port }
    package var isDirectory: Bool { name.isEmpty }

    /// Decoded user and password; nil if the URL has no user.
    package var credential: (user: String, password: String?)? {
        httpURL.credential.flatMap { $0.user.isEmpty ? nil : $0 }
    }

    /// Parses an absolute URL, or throws the reason why it cannot be loaded. Rejects names that contain line breaks
    /// after decoding, which could inject commands into the control connection.
    package init(_ text: String) throws(HTTPURL.Failure) {
        httpURL = try HTTPURL(text, isFTP: true)
        // FTP URLs have no query.
        var path = httpURL.target.prefix { $0 != UInt8(ascii: "?") }.dropFirst()
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
        // A leading "//" means the root. Elsewhere "//" is ignored.
        let isAbsolute = parts.first?.isEmpty == true
        parts.removeAll(where: \.isEmpty)
        if isAbsolute { parts.insert([UInt8(ascii: "/")], at: 0) }
        if type == .names, !name.isEmpty {
            parts.append(name)
            name = []
        }
        if let credential = httpURL.credential {
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

    /// Not CR, LF or NUL.
    private static func isPlain(_ byte: UInt8) -> Bool { byte != 0x0D && byte != 0x0A && byte != 0 }
}
