internal import FoundationEssentials
internal import LoadingSemantics

/// The machine's own list of names and addresses (hosts(5)); only the names are read.
struct HostsFile {
    private let text: [UInt8]

    init(_ text: [UInt8]) { self.text = text }

    /// The current contents. Blocks. A file that cannot be read has no names.
    static var system: HostsFile {
        HostsFile(FileManager.default.contents(atPath: "/etc/hosts").map { [UInt8]($0) } ?? [])
    }

    /// - Parameter host: In lower case.
    func names(_ host: String) -> Bool {
        let name = Array(host.hasSuffix(".") ? host.utf8.dropLast() : host.utf8[...])
        return text.split(separator: UInt8(ascii: "\n")).contains { line in
            // The address comes first; what follows "#" is a comment.
            line.prefix { $0 != UInt8(ascii: "#") }.split { Self.isSpace($0) }.dropFirst().contains { other in
                let other = other.last == UInt8(ascii: ".") ? other.dropLast() : other
                return other.lazy.map(asciiLowercase).elementsEqual(name)
            }
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
    }
}
