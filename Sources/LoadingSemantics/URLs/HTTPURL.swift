/// An absolute URL of HTTP or WebSocket, cut into what a connection and a request line need.
///
/// Made once per request, in one pass over the text, with one allocation and one more for a host of 16 letters or more.
package struct HTTPURL: Sendable, Equatable {
    package enum Scheme: UInt8, Sendable {
        case http, https, ws, wss

        package var isSecure: Bool { self == .https || self == .wss }
        package var defaultPort: UInt16 { isSecure ? 443 : 80 }

        package var name: StaticString {
            switch self {
            case .http: "http"
            case .https: "https"
            case .ws: "ws"
            case .wss: "wss"
            }
        }
    }

    /// Why a text is no such URL.
    package enum Failure: Error, Sendable, Equatable {
        /// There is no scheme, or another one.
        case unsupportedScheme
        case noHost
        /// The host is there, but no host can have that name (ERR-15).
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

    package let scheme: Scheme
    /// Lower-case ASCII, without brackets; the zone of an IPv6 address follows after "%".
    package let host: String
    package let port: UInt16
    /// As it stands in the URL, or nil.
    package let userinfo: String?
    /// The authority, then at once the target, so that a proxy's absolute form needs no joining.
    private let bytes: [UInt8]
    private let authorityLength: Int

    /// For `Host` and `:authority`: no user-info, no zone, the port only if it is not the scheme's own (MISC-27).
    package var authority: ArraySlice<UInt8> { bytes[..<authorityLength] }

    /// Path and query in origin form: at least "/", no fragment (MISC-27).
    package var target: ArraySlice<UInt8> { bytes[authorityLength...] }

    /// The target for a proxy (RFC 9112 §3.2.2).
    package var absoluteForm: [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 8)
        scheme.name.withUTF8Buffer { result += $0 }
        result += "://".utf8
        result += bytes
        return result
    }

    /// User and password, decoded; nil if the URL has neither.
    package var credential: (user: String, password: String?)? {
        guard let userinfo else { return nil }
        let parts = userinfo.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = parts.map { part in
            String(decoding: PercentEncoding.decode(part) ?? Array(part), as: UTF8.self)
        }
        guard let user = decoded.first, !userinfo.isEmpty else { return nil }
        return (user, decoded.count > 1 ? decoded[1] : nil)
    }

    /// Whether scheme, host and port are the same (RFC 6454).
    package func isSameOrigin(as other: HTTPURL) -> Bool {
        port == other.port && scheme == other.scheme && host == other.host
    }

    /// Reads the text of an absolute URL, or says why it cannot be loaded.
    package init(_ text: String) throws(Failure) {
        let result =
            text.utf8.withContiguousStorageIfAvailable { Parser(text: $0).url() }
            ?? Array(text.utf8).withUnsafeBufferPointer { Parser(text: $0).url() }
        self = try result.get()
    }

    private init(scheme: Scheme, host: String, port: UInt16, userinfo: String?, bytes: [UInt8], authorityLength: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.userinfo = userinfo
        self.bytes = bytes
        self.authorityLength = authorityLength
    }
}

extension HTTPURL {
    private struct Parser {
        let text: UnsafeBufferPointer<UInt8>

        func url() -> Result<HTTPURL, Failure> {
            guard let (scheme, start) = schemeAndAuthorityStart() else { return .failure(.unsupportedScheme) }

            var end = start
            var hostStart = start
            while end < text.count {
                let byte = text[end]
                if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { break }
                end += 1
                if byte == UInt8(ascii: "@") { hostStart = end }
                if URLBytes.isForbidden(byte) { return .failure(.badCharacter) }
            }
            let userinfo = hostStart > start ? String(decoding: text[start..<hostStart - 1], as: UTF8.self) : nil

            let host: Host
            switch self.host(hostStart..<end) {
            case .success(let found): host = found
            case .failure(let failure): return .failure(failure)
            }
            guard let port = port(host.end..<end, default: scheme.defaultPort) else { return .failure(.badPort) }

            var targetEnd = end
            var isPlain = true
            while targetEnd < text.count {
                let byte = text[targetEnd]
                if byte == UInt8(ascii: "#") { break }
                if URLBytes.isForbidden(byte) { return .failure(.badCharacter) }
                if byte >= 0x80 { isPlain = false }
                targetEnd += 1
            }

            var bytes: [UInt8] = []
            bytes.reserveCapacity(targetEnd - hostStart + 8)
            if host.isIPv6 { bytes.append(UInt8(ascii: "[")) }
            bytes += host.address
            if host.isIPv6 { bytes.append(UInt8(ascii: "]")) }
            if port != scheme.defaultPort {
                bytes.append(UInt8(ascii: ":"))
                appendDecimal(port, to: &bytes)
            }
            let authorityLength = bytes.count
            if end == targetEnd || text[end] != UInt8(ascii: "/") { bytes.append(UInt8(ascii: "/")) }
            if isPlain {
                bytes += UnsafeBufferPointer(rebasing: text[end..<targetEnd])
            } else {
                bytes += PercentEncoding.encode(text[end..<targetEnd]) { $0 < 0x80 }
            }
            return .success(
                HTTPURL(
                    scheme: scheme, host: host.name, port: port, userinfo: userinfo, bytes: bytes,
                    authorityLength: authorityLength))
        }

        private func schemeAndAuthorityStart() -> (Scheme, Int)? {
            // The shortest is "ws://".
            guard text.count >= 5 else { return nil }
            let scheme: Scheme
            let length: Int
            if startsWith("https") {
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
            guard text.count >= lower.utf8CodeUnitCount else { return false }
            for index in 0..<lower.utf8CodeUnitCount where asciiLowercase(text[index]) != lower.utf8Start[index] {
                return false
            }
            return true
        }

        private struct Host {
            /// Where in the text it ends.
            var end: Int
            /// Lower-case, without brackets and zone.
            var address: [UInt8]
            /// With the zone.
            var name: String
            var isIPv6 = false
        }

        private func host(_ range: Range<Int>) -> Result<Host, Failure> {
            if range.isEmpty { return .failure(.noHost) }
            if text[range.lowerBound] == UInt8(ascii: "[") { return literal(range) }
            var end = range.lowerBound
            var isPlain = true
            while end < range.upperBound, text[end] != UInt8(ascii: ":") {
                let byte = text[end]
                if !URLBytes.isRegisteredName(byte) {
                    if byte != UInt8(ascii: "%"), byte < 0x80 { return .failure(.badHost) }
                    isPlain = false
                }
                end += 1
            }
            if end == range.lowerBound { return .failure(.noHost) }
            let written = UnsafeBufferPointer(rebasing: text[range.lowerBound..<end])
            if isPlain {
                let lower = [UInt8](unsafeUninitializedCapacity: written.count) { buffer, count in
                    for index in written.indices { buffer[index] = asciiLowercase(written[index]) }
                    count = written.count
                }
                return .success(Host(end: end, address: lower, name: String(decoding: lower, as: UTF8.self)))
            }
            guard let ascii = HostName.ascii(written), !ascii.isEmpty else { return .failure(.badHost) }
            return .success(Host(end: end, address: ascii, name: String(decoding: ascii, as: UTF8.self)))
        }

        /// An IPv6 address in brackets, whose zone may follow "%25" (RFC 6874) or, as many write it, "%".
        private func literal(_ range: Range<Int>) -> Result<Host, Failure> {
            guard let close = text[range].firstIndex(of: UInt8(ascii: "]")) else { return .failure(.badHost) }
            let inner = text[range.lowerBound + 1..<close]
            let addressEnd = inner.firstIndex(of: UInt8(ascii: "%")) ?? close
            let address = inner[..<addressEnd].map(asciiLowercase)
            let isAddress =
                address.contains(UInt8(ascii: ":"))
                && address.allSatisfy { byte in
                    switch byte {
                    case 0x30...0x3A, UInt8(ascii: "."), UInt8(ascii: "a")...UInt8(ascii: "f"): true
                    default: false
                    }
                }
            guard isAddress else { return .failure(.badHost) }
            var name = String(decoding: address, as: UTF8.self)
            if addressEnd < close {
                var zone = inner[(addressEnd + 1)...]
                if zone.starts(with: "25".utf8) { zone = zone.dropFirst(2) }
                guard !zone.isEmpty, let decoded = PercentEncoding.decode(zone),
                    decoded.allSatisfy(URLBytes.isRegisteredName)
                else { return .failure(.badHost) }
                name += "%" + String(decoding: decoded, as: UTF8.self)
            }
            return .success(Host(end: close + 1, address: address, name: name, isIPv6: true))
        }

        /// What stands between the host and the path: nothing, ":" alone, or ":" and a number from 1 to 65535.
        private func port(_ range: Range<Int>, default defaultPort: UInt16) -> UInt16? {
            if range.isEmpty { return defaultPort }
            guard text[range.lowerBound] == UInt8(ascii: ":") else { return nil }
            if range.count == 1 { return defaultPort }
            var port = 0
            for byte in text[range.dropFirst()] {
                guard byte &- 0x30 < 10 else { return nil }
                port = port * 10 + Int(byte - 0x30)
                if port > 65535 { return nil }
            }
            return port == 0 ? nil : UInt16(port)
        }

        private func appendDecimal(_ number: UInt16, to bytes: inout [UInt8]) {
            var divisor: UInt16 = 10000
            while divisor > number { divisor /= 10 }
            while divisor > 0 {
                bytes.append(UInt8(0x30 + number / divisor % 10))
                divisor /= 10
            }
        }
    }
}
