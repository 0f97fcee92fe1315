/// The destination of a connection, as far as proxy selection and proxies use it.
package struct ProxyDestination: Sendable, Hashable {
    /// The kind of traffic, which selects the proxy setting.
    package enum Traffic: Sendable, Hashable {
        /// `http` and `ws`
        case http
        /// `https` and `wss`
        case https
        case ftp
        /// A stream task.
        case other

        package init(_ scheme: HTTPURL.Scheme) {
            switch scheme {
            case .http, .ws: self = .http
            case .https, .wss: self = .https
            case .ftp: self = .ftp
            }
        }
    }

    package let traffic: Traffic
    /// As in `HTTPURL`.
    package let host: String
    package let port: UInt16
    /// 4 or 16 bytes if the host is an IP address. Without the zone, which is meaningless on other machines.
    package let address: [UInt8]?

    package init(traffic: Traffic, host: String, port: UInt16) {
        self.traffic = traffic
        self.host = host.lowercased()
        self.port = port
        address = IPAddressRange.bytes(String(self.host.prefix { $0 != "%" }))
    }

    package init(_ url: HTTPURL) { self.init(traffic: Traffic(url.scheme), host: url.host, port: url.port) }

    package init(_ url: FTPURL) { self.init(traffic: .ftp, host: url.host, port: url.port) }

    /// The authority of a CONNECT request (RFC 9110 §9.3.6), always with a port.
    package var authority: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host.prefix { $0 != "%" })]:\(port)" : "\(host):\(port)"
    }

    /// Whether the destination is the local machine (PROXY-9).
    var isLoopback: Bool {
        guard let address = plainAddress else { return plainHost == "localhost" || plainHost.hasSuffix(".localhost") }
        return address.count == 4 ? address[0] == 127 : address.dropLast().allSatisfy { $0 == 0 } && address.last == 1
    }

    /// Without a final dot, which is insignificant.
    var plainHost: String { host.hasSuffix(".") ? String(host.dropLast()) : host }

    /// Converts an IPv4-mapped IPv6 address to IPv4 (RFC 4291 §2.5.5.2).
    var plainAddress: [UInt8]? {
        guard let address, address.count == 16, address[10] == 0xFF, address[11] == 0xFF,
            address.prefix(10).allSatisfy({ $0 == 0 })
        else { return address }
        return Array(address.suffix(4))
    }
}
