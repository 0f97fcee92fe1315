internal import LoadingEvents
internal import LoadingSemantics

/// Formats text for the log: short, on one line, and without secrets.
enum TraceText {
    static let hidden = "[redacted]"

    /// The maximum length of a line in bytes, without prefix and line break.
    static let longestLine = 1_000
    /// The maximum length of a URL in bytes, so that the rest of the line fits.
    private static let longestAddress = 500

    /// Escapes control characters and line breaks, and truncates.
    static func line(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars {
            let piece = isPlain(scalar) ? String(scalar) : "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            guard line.utf8.count + piece.utf8.count <= longestLine else { return line + "..." }
            line += piece
        }
        return line
    }

    /// Whether a scalar is printable: not a control, line break or bidirectional control.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }

    /// A URL without user information, query and fragment. Of a `data:` URL only the media type remains.
    static func address(_ url: String) -> String {
        if url.prefix(5).lowercased() == "data:" { return url.prefix { $0 != "," }.prefix(100) + ",..." }
        let shown = withoutQueries(URLReference.withoutUserinfo(url), everywhere: true)
        guard shown.utf8.count > longestAddress else { return shown }
        return String(decoding: shown.utf8.prefix(longestAddress), as: UTF8.self) + "..."
    }

    /// Fields whose values are URL references.
    private static let fieldsOfAddresses: Set<String> = [
        ":path", "content-location", "link", "location", "referer", "refresh", "sourcemap",
    ]
    /// Values with these prefixes are credentials, whatever the field name is.
    private static let schemes = ["basic ", "bearer ", "digest ", "negotiate ", "ntlm ", "token "]

    /// The value of a field, or a placeholder for a secret one.
    static func value(_ value: String, of name: String) -> String {
        let start = value.prefix(20).lowercased()
        if SecretFields.isSecret(name) || schemes.contains(where: { start.hasPrefix($0) }) { return hidden }
        return withoutQueries(value, everywhere: fieldsOfAddresses.contains(name.lowercased()))
    }

    /// Removes user information and replaces query and fragment in each URL of a text.
    ///
    /// - Parameter everywhere: Whether the text consists of URL references, some without a scheme.
    private static func withoutQueries(_ text: String, everywhere: Bool) -> String {
        var output: [UInt8] = []
        let input = Array(text.utf8)
        var isInAddress = everywhere
        var index = 0
        while index < input.count {
            let byte = input[index]
            // A field may have an address after a name, as `Refresh` has one after "url=".
            let isFirst = index == 0 || endsAddress(input[index - 1]) || "='".utf8.contains(input[index - 1])
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

    /// Nanoseconds as milliseconds with one decimal.
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

    /// TLS version and cipher suite.
    static func tls(_ version: UInt16, _ suite: UInt16) -> String {
        "version \(Self.version(version)), cipher suite 0x\(String(suite, radix: 16))"
    }

    /// The version of TLS.
    static func version(_ number: UInt16) -> String {
        switch number {
        case 0x0301: "1.0"
        case 0x0302: "1.1"
        case 0x0303: "1.2"
        case 0x0304: "1.3"
        default: "0x\(String(number, radix: 16))"
        }
    }
}

extension LoadError {
    /// Why a task failed. Text from servers and programs is not included.
    var reasonForTrace: String {
        guard let cause, let error = cause.error else { return message }
        let number = "\(error.domain) \(error.code)"
        return switch cause {
        case .tls(_, let text), .http(let text), .system(let text), .library(let text), .service(let text):
            "\(message) (\(number): \(text))"
        case .posix, .dns, .cfNetwork, .ftp: "\(message) (\(number))"
        case .foreign: number
        case .cancellation: message
        }
    }
}
