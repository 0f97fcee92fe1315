internal import CLoadingOctets

/// A parsed absolute URL of HTTP or WebSocket.
///
/// Parsed once per request in one pass, with two allocations, and one more for hosts of 16 or more characters. Copies
/// share the parts, because each stage of a load has one.
package struct HTTPURL: Sendable, Equatable {
    package enum Scheme: UInt8, Sendable {
        case http, https, ws, wss
        /// Only within `FTPURL`.
        case ftp

        package var isSecure: Bool { self == .https || self == .wss }
        package var isHTTP: Bool { self == .http || self == .https }
        package var defaultPort: UInt16 { self == .ftp ? 21 : isSecure ? 443 : 80 }

        package var name: StaticString {
            switch self {
            case .http: "http"
            case .https: "https"
            case .ws: "ws"
            case .wss: "wss"
            case .ftp: "ftp"
            }
        }
    }

    /// Why a URL cannot be loaded.
    package enum Failure: Error, Sendable, Equatable {
        /// The scheme is missing or unsupported.
        case unsupportedScheme
        case noHost
        /// The host is not a valid host name (ERR-15).
        case badHost
        case badPort
        /// A space or a control character.
        case badCharacter

        package var loadError: LoadError {
            switch self {
            case .unsupportedScheme: .unsupportedURL
            case .badHost: .cannotFindHost
            case .noHost, .badPort, .badCharacter: .badURL
            }
        }
    }

    private let parts: Parts

    private final class Parts: Sendable {
        let scheme: Scheme
        let host: String
        let port: UInt16
        let userinfo: String?
        /// Authority and target, adjacent, so that the absolute form needs no concatenation.
        let bytes: [UInt8]
        let authorityLength: Int

        init(
            scheme: Scheme, host: String, port: UInt16, userinfo: String?, bytes: [UInt8], authorityLength: Int
        ) {
            self.scheme = scheme
            self.host = host
            self.port = port
            self.userinfo = userinfo
            self.bytes = bytes
            self.authorityLength = authorityLength
        }
    }

    package var scheme: Scheme { parts.scheme }
    /// Lower-case ASCII, without brackets. The zone of an IPv6 address follows "%".
    package var host: String { parts.host }
    package var port: UInt16 { parts.port }
    /// As in the URL, or nil.
    package var userinfo: String? { parts.userinfo }
    private var bytes: [UInt8] { parts.bytes }
    private var authorityLength: Int { parts.authorityLength }

    /// The value of `Host` and `:authority`: without userinfo and zone, with the port only if it is not the default
    /// (MISC-27).
    package var authority: ArraySlice<UInt8> { bytes[..<authorityLength] }

    /// Path and query in origin form: at least "/", without fragment (MISC-27).
    package var target: ArraySlice<UInt8> { bytes[authorityLength...] }

    /// The extension of the last path component as it is written, or nil.
    package var pathExtension: String? {
        bytes.withUnsafeBufferPointer { bytes in
            let path = bytes[authorityLength...].prefix { $0 != UInt8(ascii: "?") }
            let name = path.lastIndex(of: UInt8(ascii: "/")).map { path[($0 + 1)...] } ?? path
            // Most have none, and then no text is made.
            guard name.contains(UInt8(ascii: ".")) else { return nil }
            return FileExtensions.fileExtension(ofName: String(decoding: name, as: UTF8.self))
        }
    }

    /// The absolute form, for proxies (RFC 9112 §3.2.2).
    package var absoluteForm: [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 8)
        scheme.name.withUTF8Buffer { result += $0 }
        result += "://".utf8
        result += bytes
        return result
    }

    /// The absolute form as text.
    package var absoluteText: String {
        let start: StaticString =
            switch scheme {
            case .http: "http://"
            case .https: "https://"
            case .ws: "ws://"
            case .wss: "wss://"
            case .ftp: "ftp://"
            }
        return String(unsafeUninitializedCapacity: start.utf8CodeUnitCount + bytes.count) { text in
            let end = start.withUTF8Buffer { text.initialize(fromContentsOf: $0) }
            return bytes.withUnsafeBufferPointer { text[end...].initialize(fromContentsOf: $0) }
        }
    }

    /// Decoded user and password; nil if the URL has no userinfo.
    package var credential: (user: String, password: String?)? {
        guard let userinfo else { return nil }
        let parts = userinfo.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = parts.map { part in
            String(decoding: PercentEncoding.decode(part) ?? Array(part), as: UTF8.self)
        }
        guard let user = decoded.first, !userinfo.isEmpty else { return nil }
        return (user, decoded.count > 1 ? decoded[1] : nil)
    }

    /// Whether scheme, host and port are equal (RFC 6454).
    package func isSameOrigin(as other: HTTPURL) -> Bool {
        port == other.port && scheme == other.scheme && host == other.host
    }

    /// Parses an absolute URL, or throws the reason why it cannot be loaded.
    package init(_ text: String) throws(Failure) { try self.init(text, isFTP: false) }

    /// - Parameter isFTP: Whether the scheme must be `ftp`. Otherwise it must be one of HTTP or WebSocket.
    init(_ text: String, isFTP: Bool) throws(Failure) {
        // Closures of the standard library do not support typed throws.
        var failure = Failure.badCharacter
        let parse = { (bytes: UnsafeBufferPointer<UInt8>) -> HTTPURL? in
            do throws(Failure) {
                return try Parser(text: bytes, isFTP: isFTP).url()
            } catch {
                failure = error
                return nil
            }
        }
        let url =
            text.utf8.withContiguousStorageIfAvailable(parse)
            ?? Array(text.utf8).withUnsafeBufferPointer(parse)
        guard let url else { throw failure }
        self = url
    }

    private init(scheme: Scheme, host: String, port: UInt16, userinfo: String?, bytes: [UInt8], authorityLength: Int) {
        parts = Parts(
            scheme: scheme, host: host, port: port, userinfo: userinfo, bytes: bytes, authorityLength: authorityLength)
    }

    package static func == (left: HTTPURL, right: HTTPURL) -> Bool {
        left.parts === right.parts
            || left.scheme == right.scheme && left.port == right.port && left.host == right.host
                && left.userinfo == right.userinfo && left.authorityLength == right.authorityLength
                && left.bytes == right.bytes
    }
}

extension HTTPURL {
    private struct Parser {
        let text: UnsafeBufferPointer<UInt8>
        let isFTP: Bool

        func url() throws(Failure) -> HTTPURL {
            guard let (scheme, start) = schemeAndAuthorityStart() else { throw .unsupportedScheme }

            var end = start
            var hostStart = start
            while true {
                end = endOfSet(URLBytes.authority, from: end)
                guard end < text.count else { break }
                let byte = text[end]
                if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { break }
                guard byte == UInt8(ascii: "@") || byte >= 0x80 else { throw .badCharacter }
                end += 1
                if byte == UInt8(ascii: "@") { hostStart = end }
            }
            let userinfo = hostStart > start ? String(decoding: text[start..<hostStart - 1], as: UTF8.self) : nil

            let host = try host(hostStart..<end)
            if !host.isPlain { return try urlWithASCII(host) }
            guard let port = port(host.end..<end, default: scheme.defaultPort) else { throw .badPort }

            var targetEnd = end
            var isPlain = true
            while true {
                targetEnd = endOfSet(clo_target_characters(), from: targetEnd)
                guard targetEnd < text.count, text[targetEnd] != UInt8(ascii: "#") else { break }
                guard text[targetEnd] >= 0x80 else { throw .badCharacter }
                isPlain = false
                targetEnd += 1
            }

            let path = UnsafeBufferPointer(rebasing: text[end..<targetEnd])
            if !isPlain {
                let encoded = PercentEncoding.encode(path) { $0 < 0x80 }
                return encoded.withUnsafeBufferPointer { url(scheme, userinfo, host, port, $0) }
            }
            return url(scheme, userinfo, host, port, path)
        }

        /// The first octet at or after `start` that is not in the set, or the end of the text.
        private func endOfSet(_ set: clo_ascii_set, from start: Int) -> Int {
            clo_end_of_set(text.baseAddress, start, text.count, set)
        }

        /// Writes authority and target into one block.
        private func url(
            _ scheme: Scheme, _ userinfo: String?, _ host: Host, _ port: UInt16, _ path: UnsafeBufferPointer<UInt8>
        ) -> HTTPURL {
            var hostText = ""
            var authorityLength = 0
            // The parser adds at most brackets, ":65535" and "/".
            let bytes = [UInt8](unsafeUninitializedCapacity: host.address.count + path.count + 9) { block, count in
                var end = 0
                if host.isIPv6 {
                    block[0] = UInt8(ascii: "[")
                    end = 1
                }
                let name = UnsafeMutableBufferPointer(rebasing: block[end..<end + host.address.count])
                clo_copy_lowercase(name.baseAddress, host.address.baseAddress, name.count)
                hostText = String(decoding: name, as: UTF8.self)
                end += name.count
                if host.isIPv6 {
                    block[end] = UInt8(ascii: "]")
                    end += 1
                }
                if port != scheme.defaultPort {
                    block[end] = UInt8(ascii: ":")
                    end += 1
                    var divisor: UInt16 = 10000
                    while divisor > port { divisor /= 10 }
                    while divisor > 0 {
                        block[end] = UInt8(0x30 + port / divisor % 10)
                        end += 1
                        divisor /= 10
                    }
                }
                authorityLength = end
                if path.first != UInt8(ascii: "/") {
                    block[end] = UInt8(ascii: "/")
                    end += 1
                }
                count = UnsafeMutableBufferPointer(rebasing: block[end...]).update(fromContentsOf: path) + end
            }
            return HTTPURL(
                scheme: scheme, host: host.zone.map { hostText + "%" + $0 } ?? hostText, port: port, userinfo: userinfo,
                bytes: bytes, authorityLength: authorityLength)
        }

        private func schemeAndAuthorityStart() -> (Scheme, Int)? {
            // The shortest prefix is "ws://".
            guard text.count >= 5 else { return nil }
            let scheme: Scheme
            let length: Int
            if isFTP {
                guard startsWith("ftp") else { return nil }
                (scheme, length) = (.ftp, 3)
            } else if startsWith("https") {
                (scheme, length) = (.https, 5)
            } else if startsWith("http") {
                (scheme, length) = (.http, 4)
            } else if startsWith("wss") {
                (scheme, length) = (.wss, 3)
            } else if startsWith("ws") {
                (scheme, length) = (.ws, 2)
            } else {
                return nil
            }
            guard text.count >= length + 3, text[length] == UInt8(ascii: ":"), text[length + 1] == UInt8(ascii: "/"),
                text[length + 2] == UInt8(ascii: "/")
            else { return nil }
            return (scheme, length + 3)
        }

        private func startsWith(_ lower: StaticString) -> Bool {
            text.count >= lower.utf8CodeUnitCount
                && clo_equals_ignoring_case(text.baseAddress, lower.utf8Start, lower.utf8CodeUnitCount)
        }

        private struct Host {
            /// The index after the host.
            var end: Int
            /// In any case, without brackets and zone.
            var address: UnsafeBufferPointer<UInt8>
            /// Whether the host is ASCII and not percent-encoded.
            var isPlain = true
            var isIPv6 = false
            var zone: String?
        }

        private func host(_ range: Range<Int>) throws(Failure) -> Host {
            if range.isEmpty { throw .noHost }
            if text[range.lowerBound] == UInt8(ascii: "[") { return try literal(range) }
            var end = range.lowerBound
            var isPlain = true
            while true {
                end = clo_end_of_set(text.baseAddress, end, range.upperBound, URLBytes.registeredName)
                guard end < range.upperBound, text[end] != UInt8(ascii: ":") else { break }
                guard text[end] == UInt8(ascii: "%") || text[end] >= 0x80 else { throw .badHost }
                isPlain = false
                end += 1
            }
            if end == range.lowerBound { throw .noHost }
            let written = UnsafeBufferPointer(rebasing: text[range.lowerBound..<end])
            return Host(end: end, address: written, isPlain: isPlain)
        }

        /// Parses the URL again with its host in ASCII.
        private func urlWithASCII(_ host: Host) throws(Failure) -> HTTPURL {
            guard let ascii = HostName.ascii(host.address), !ascii.isEmpty else { throw .badHost }
            let rewritten = text[..<(host.end - host.address.count)] + ascii + text[host.end...]
            return try HTTPURL(String(decoding: rewritten, as: UTF8.self), isFTP: isFTP)
        }

        /// An IPv6 address in brackets. The zone follows "%25" (RFC 6874) or "%", which is common.
        private func literal(_ range: Range<Int>) throws(Failure) -> Host {
            guard let close = text[range].firstIndex(of: UInt8(ascii: "]")) else { throw .badHost }
            let inner = text[range.lowerBound + 1..<close]
            let addressEnd = inner.firstIndex(of: UInt8(ascii: "%")) ?? close
            let address = inner[..<addressEnd]
            let isAddress =
                address.contains(UInt8(ascii: ":"))
                && address.allSatisfy { byte in
                    switch asciiLowercase(byte) {
                    case 0x30...0x3A, UInt8(ascii: "."), UInt8(ascii: "a")...UInt8(ascii: "f"): true
                    default: false
                    }
                }
            guard isAddress else { throw .badHost }
            var host = Host(end: close + 1, address: UnsafeBufferPointer(rebasing: address), isIPv6: true)
            if addressEnd < close {
                var zone = inner[(addressEnd + 1)...]
                if zone.starts(with: "25".utf8) { zone = zone.dropFirst(2) }
                guard !zone.isEmpty, let decoded = PercentEncoding.decode(zone),
                    decoded.allSatisfy(URLBytes.isRegisteredName)
                else { throw .badHost }
                host.zone = String(decoding: decoded, as: UTF8.self)
            }
            return host
        }

        /// The text between host and path: nothing, ":", or ":" and a number from 1 to 65535.
        private func port(_ range: Range<Int>, default defaultPort: UInt16) -> UInt16? {
            if range.isEmpty { return defaultPort }
            guard text[range.lowerBound] == UInt8(ascii: ":") else { return nil }
            if range.count == 1 { return defaultPort }
            var port = 0
            var index = range.lowerBound + 1
            // Not a loop over a slice, which takes a hundred times as long in a debug build.
            while index < range.upperBound {
                let digit = text[index] &- 0x30
                guard digit < 10 else { return nil }
                port = port * 10 + Int(digit)
                if port > 65535 { return nil }
                index += 1
            }
            return port == 0 ? nil : UInt16(port)
        }
    }
}
