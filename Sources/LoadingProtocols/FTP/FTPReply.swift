/// A reply on the control connection (RFC 959 §4.2).
package struct FTPReply: Sendable, Equatable {
    /// 100 to 599.
    package var code: Int
    /// Of the last line, without the code.
    package var text: [UInt8]

    package init(code: Int, text: [UInt8]) {
        self.code = code
        self.text = text
    }

    /// Another reply to the same command follows.
    var isPreliminary: Bool { code < 200 }
    var isSuccess: Bool { (200..<300).contains(code) }
    /// The server needs another command.
    var isIntermediate: Bool { (300..<400).contains(code) }
}

/// Values in the text of some replies.
extension FTPReply {
    /// The port in the answer to `EPSV`, `(|||port|)`, whatever the delimiter (RFC 2428 §3).
    var extendedPassivePort: UInt16? {
        guard let open = text.firstIndex(of: UInt8(ascii: "(")) else { return nil }
        let inner = text[(open + 1)...]
        guard let delimiter = inner.first, (33...126).contains(delimiter), delimiter &- 0x30 >= 10 else { return nil }
        let parts = inner.split(separator: delimiter, maxSplits: 4, omittingEmptySubsequences: false)
        // Nothing, protocol and address, which are to be empty, the port, and the rest.
        guard parts.count == 5, parts[1].isEmpty, parts[2].isEmpty, parts[4].first == UInt8(ascii: ")"),
            let port = Self.number(parts[3]), port > 0
        else { return nil }
        return UInt16(exactly: port)
    }

    /// The port in the answer to `PASV` (RFC 959 §4.2): the last two of six numbers. The address before it is ignored:
    /// data connections go only to the server itself.
    var passivePort: UInt16? {
        var numbers: [Int64] = []
        var rest = text[...]
        while let start = rest.firstIndex(where: { $0 &- 0x30 < 10 }) {
            let digits = rest[start...].prefix { $0 &- 0x30 < 10 }
            guard let number = Self.number(digits), number < 256 else { return nil }
            numbers.append(number)
            rest = rest[digits.endIndex...]
            if numbers.count == 6 { break }
            guard rest.first == Octet.comma else {
                numbers = []
                continue
            }
        }
        guard numbers.count == 6 else { return nil }
        let port = numbers[4] * 256 + numbers[5]
        return port > 0 ? UInt16(port) : nil
    }

    /// The answer to `SIZE` (RFC 3659 §4).
    var size: Int64? {
        guard code == 213 else { return nil }
        return Self.number(trimmed[...])
    }

    /// The answer to `MDTM` (RFC 3659 §3): a time of the server's, good for being compared.
    var modificationTime: String? {
        let time = trimmed
        guard code == 213, (14...32).contains(time.count),
            time.allSatisfy({ $0 &- 0x30 < 10 || $0 == UInt8(ascii: ".") })
        else { return nil }
        return String(decoding: time, as: UTF8.self)
    }

    /// The length that many servers put into their 150: `… (1234 bytes).`
    var announcedLength: Int64? {
        guard let open = text.lastIndex(of: UInt8(ascii: "(")) else { return nil }
        let digits = text[(open + 1)...].prefix { $0 &- 0x30 < 10 }
        guard text[digits.endIndex...].starts(with: " bytes".utf8) else { return nil }
        return Self.number(digits)
    }

    /// For people.
    package var message: String { "\(code) " + String(decoding: text, as: UTF8.self) }

    private var trimmed: [UInt8] {
        let front = text.drop { $0 == Octet.space }
        return Array(front.prefix { $0 != Octet.space })
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }
}
