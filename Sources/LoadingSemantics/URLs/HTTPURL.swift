/// An absolute URL of HTTP or WebSocket, cut into what a connection and a request line need.
///
/// Made once per request, in one pass over the text, with one allocation and one more for a host of 16 letters or more.
package struct HTTPURL: Sendable, Equatable {
    package enum Scheme: UInt8, Sendable {
        case http, https, ws, wss
        /// Only within an `FTPURL`.
        case ftp

        package var isSecure: Bool { self == .https || self == .wss }
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

    /// The extension of the last path component as it stands in the URL, or nil.
    package var pathExtension: String? {
        let name = target.prefix { $0 != UInt8(ascii: "?") }.split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
        ).last
        return name.flatMap { FileExtensions.fileExtension(ofName: String(decoding: $0, as: UTF8.self)) }
    }

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
    package init(_ text: String) throws(Failure) { try self.init(text, isFTP: false) }

    /// - Parameter isFTP: Whether the scheme has to be `ftp`; else it is one of HTTP or WebSocket.
    init(_ text: String, isFTP: Bool) throws(Failure) {
        // The standard library's closures know no typed errors.
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
        let isFTP: Bool

        func url() throws(Failure) -> HTTPURL {
            guard let (scheme, start) = schemeAndAuthorityStart() else { throw .unsupportedScheme }

            var end = start
            var hostStart = start
            while end < text.count {
                let byte = text[end]
                if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { break }
                end += 1
                if byte == UInt8(ascii: "@") { hostStart = end }
                if URLBytes.isForbidden(byte) { throw .badCharacter }
            }
            let userinfo = hostStart > start ? String(decoding: text[start..<hostStart - 1], as: UTF8.self) : nil

            let host = try host(hostStart..<end)
            if !host.isPlain { return try urlWithASCII(host) }
            guard let port = port(host.end..<end, default: scheme.defaultPort) else { throw .badPort }

            var targetEnd = end
            var isPlain = true
            while targetEnd < text.count {
                let byte = text[targetEnd]
                if byte == UInt8(ascii: "#") { break }
                if URLBytes.isForbidden(byte) { throw .badCharacter }
                if byte >= 0x80 { isPlain = false }
                targetEnd += 1
            }

            let path = UnsafeBufferPointer(rebasing: text[end..<targetEnd])
            if !isPlain {
                let encoded = PercentEncoding.encode(path) { $0 < 0x80 }
                return encoded.withUnsafeBufferPointer { url(scheme, userinfo, host, port, $0) }
            }
            return url(scheme, userinfo, host, port, path)
        }

        /// Writes authority and target into one block.
        private func url(
            _ scheme: Scheme, _ userinfo: String?, _ host: Host, _ port: UInt16, _ path: UnsafeBufferPointer<UInt8>
        ) -> HTTPURL {
            var hostText = ""
            var authorityLength = 0
            // Brackets, ":65535" and "/" are the most that is added.
            let bytes = [UInt8](unsafeUninitializedCapacity: host.address.count + path.count + 9) { block, count in
                var end = 0
                if host.isIPv6 {
                    block[0] = UInt8(ascii: "[")
                    end = 1
                }
                let name = UnsafeMutableBufferPointer(rebasing: block[end..<end + host.address.count])
                for index in host.address.indices { name[index] = asciiLowercase(host.address[index]) }
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
            // The shortest is "ws://".
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
            guard text.count >= lower.utf8CodeUnitCount else { return false }
            for index in 0..<lower.utf8CodeUnitCount where asciiLowercase(text[index]) != lower.utf8Start[index] {
                return false
            }
            return true
        }

        private struct Host {
            /// Where in the text it ends.
            var end: Int
            /// In any case, without brackets and zone.
            var address: UnsafeBufferPointer<UInt8>
            /// Whether it is ASCII without percent-encoding.
            var isPlain = true
            var isIPv6 = false
            var zone: String?
        }

        private func host(_ range: Range<Int>) throws(Failure) -> Host {
            if range.isEmpty { throw .noHost }
            if text[range.lowerBound] == UInt8(ascii: "[") { return try literal(range) }
            var end = range.lowerBound
            var isPlain = true
            while end < range.upperBound, text[end] != UInt8(ascii: ":") {
                let byte = text[end]
                if !URLBytes.isRegisteredName(byte) {
                    if byte != UInt8(ascii: "%"), byte < 0x80 { throw .badHost }
                    isPlain = false
                }
                end += 1
            }
            if end == range.lowerBound { throw .noHost }
            let written = UnsafeBufferPointer(rebasing: text[range.lowerBound..<end])
            return Host(end: end, address: written, isPlain: isPlain)
        }

        /// The same URL with its host in ASCII.
        private func urlWithASCII(_ host: Host) throws(Failure) -> HTTPURL {
            guard let ascii = HostName.ascii(host.address), !ascii.isEmpty else { throw .badHost }
            let rewritten = text[..<(host.end - host.address.count)] + ascii + text[host.end...]
            return try HTTPURL(String(decoding: rewritten, as: UTF8.self), isFTP: isFTP)
        }

        /// An IPv6 address in brackets, whose zone may follow "%25" (RFC 6874) or, as many write it, "%".
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
    }
}
