internal import LoadingEvents
internal import LoadingSemantics

/// Texts as they may stand in a log: short, in one line, and without secrets.
enum TraceText {
    static let hidden = "[redacted]"

    /// Bytes of a line, without what the output puts before and behind it.
    static let longestLine = 1_000
    /// Of an address, so that there is room in the line for what became of it.
    private static let longestAddress = 500

    /// A line that no terminal obeys and no reader takes for two. What is too much is cut off.
    static func line(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars {
            let piece = isPlain(scalar) ? String(scalar) : "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            guard line.utf8.count + piece.utf8.count <= longestLine else { return line + "..." }
            line += piece
        }
        return line
    }

    /// Neither a control character, nor one that ends a line or turns the direction of what stands around it.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }

    /// An address without its user, password, query and fragment. Of a `data:` URL nothing is left but its type.
    static func address(_ url: String) -> String {
        if url.prefix(5).lowercased() == "data:" { return url.prefix { $0 != "," }.prefix(100) + ",..." }
        let shown = withoutQueries(URLReference.withoutUserinfo(url), everywhere: true)
        guard shown.utf8.count > longestAddress else { return shown }
        return String(decoding: shown.utf8.prefix(longestAddress), as: UTF8.self) + "..."
    }

    /// Fields whose values are addresses that need not have a scheme.
    private static let fieldsOfAddresses: Set<String> = [
        ":path", "content-location", "link", "location", "referer", "refresh", "sourcemap",
    ]
    /// What credentials begin with, whatever the field is called.
    private static let schemes = ["basic ", "bearer ", "digest ", "negotiate ", "ntlm ", "token "]

    /// The value of a field, or that it is one which is not shown.
    static func value(_ value: String, of name: String) -> String {
        let start = value.prefix(20).lowercased()
        if SecretFields.isSecret(name) || schemes.contains(where: { start.hasPrefix($0) }) { return hidden }
        return withoutQueries(value, everywhere: fieldsOfAddresses.contains(name.lowercased()))
    }

    /// Replaces what is behind a question mark or a number sign in each address of a text, and removes its user.
    ///
    /// - Parameter everywhere: Whether the text is nothing but addresses, some of them without a scheme.
    private static func withoutQueries(_ text: String, everywhere: Bool) -> String {
        var output: [UInt8] = []
        let input = Array(text.utf8)
        var isInAddress = everywhere
        var index = 0
        while index < input.count {
            let byte = input[index]
            let isFirst = index == 0 || endsAddress(input[index - 1])
            if endsAddress(byte) {
                isInAddress = everywhere
            } else if input[index...].starts(with: "//".utf8),
                isFirst ? everywhere : input[index - 1] == UInt8(ascii: ":")
            {
                isInAddress = true
                let authority = input[(index + 2)...].prefix { !endsAddress($0) && !"/?#\\".utf8.contains($0) }
                output += Array("//".utf8)
                index = authority.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? authority.startIndex
                continue
            } else if isInAddress, byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") {
                output += [byte] + Array("...".utf8)
                index += input[index...].prefix { !endsAddress($0) }.count
                continue
            }
            output.append(byte)
            index += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func endsAddress(_ byte: UInt8) -> Bool { byte <= 0x20 || "\"<>".utf8.contains(byte) }

    /// Nanoseconds as milliseconds with one digit behind the point.
    static func milliseconds(_ time: Int64) -> String {
        let tenths = time / 100_000 + (time % 100_000 >= 50_000 ? 1 : 0)
        return "\(tenths / 10).\(tenths % 10)"
    }

    static func connection(_ facts: ConnectionFacts) -> String {
        var text = facts.isReused ? "used connection" : "new connection"
        if let address = facts.remoteAddress, let port = facts.remotePort {
            text += address.contains(":") ? " to [\(address)]:\(port)" : " to \(address):\(port)"
        }
        return facts.isProxied ? text + " by a proxy" : text
    }

    /// A version and a cipher suite by the numbers of TLS.
    static func tls(_ version: UInt16, _ suite: UInt16) -> String {
        let name =
            switch version {
            case 0x0301: "1.0"
            case 0x0302: "1.1"
            case 0x0303: "1.2"
            case 0x0304: "1.3"
            default: "0x\(String(version, radix: 16))"
            }
        return "version \(name), cipher suite 0x\(String(suite, radix: 16))"
    }
}

extension LoadError {
    /// Why a task failed, for a log: without what is a server's or a program's own to say.
    var reasonForTrace: String {
        guard let cause else { return message }
        let number = "\(cause.error.domain) \(cause.error.code)"
        return switch cause {
        case .tls(_, let text), .http(let text), .system(let text), .library(let text):
            "\(message) (\(number): \(text))"
        case .posix, .dns, .cfNetwork, .ftp: "\(message) (\(number))"
        case .foreign: number
        }
    }
}
