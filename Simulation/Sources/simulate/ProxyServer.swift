import CSimulation
import Foundation
import URLLoading

/// A host that stands between the client and the others: a proxy of HTTP, the same over TLS, or SOCKS5.
final class ProxyServer {
    /// The program names an HTTP proxy in a dictionary, or in a configuration, with which it always has tunnels.
    enum Kind: CaseIterable {
        case http, tunnel, secureTunnel, socks

        /// A background session has no configurations of proxies.
        static let ofBackground: [Kind] = [.http, .socks]
    }

    static let name = "proxy.example"
    static let user = "user of \(name)", password = "secret of \(name)"
    static let realm = "area of \(name)"
    let kind: Kind
    /// Basic for HTTP, RFC 1929 for SOCKS5.
    let needsPassword: Bool
    let isFaultless: Bool
    private let hosts: [String: OriginServer]

    init(_ kind: Kind, address: simulation_address, needsPassword: Bool, hosts: [OriginServer], isFaultless: Bool) {
        (self.kind, self.needsPassword, self.isFaultless) = (kind, needsPassword, isFaultless)
        self.hosts = Dictionary(uniqueKeysWithValues: hosts.map { ($0.name, $0) })
        simulation_add_name(Self.name, address, second / 20)
        let tls = kind == .secureTunnel ? Self.tls : nil
        _ = Listener(address, port: port) { [self] wire in
            if kind == .socks { return SOCKSEndpoint(of: self, on: wire) }
            guard let tls else { return HTTP1Endpoint(of: self, on: wire) }
            return TLSEndpoint(on: wire, of: tls, sendsCloseNotify: true) { wire, _ in
                HTTP1Endpoint(of: self, on: wire)
            }
        }
    }

    /// From `simulation_tls_host_new`, which fails only without memory.
    private static var tls: OpaquePointer {
        let choices = Choices("\(name) in TLS")
        var options = simulation_tls_options()
        options.is_old = choices.oneIn(4)
        options.tickets = choices.below(3)
        return simulation_tls_host_new(name, options)!
    }

    var port: UInt16 {
        switch kind {
        case .http, .tunnel: 3128
        case .secureTunnel: 443
        case .socks: 1080
        }
    }

    // MARK: the program

    func configure(_ configuration: URLSessionConfiguration, hasPassword: Bool) {
        switch kind {
        // SOCKS has no challenge.
        case .socks: configuration.connectionProxyDictionary = dictionary(["SOCKS"], hasPassword: true)
        case .http: configuration.connectionProxyDictionary = dictionary(["HTTP", "HTTPS"], hasPassword: hasPassword)
        case .tunnel, .secureTunnel:
            let endpoint = NWEndpoint.hostPort(host: .init(Self.name), port: .init(integerLiteral: port))
            var proxy = ProxyConfiguration(
                httpCONNECTProxy: endpoint, tlsOptions: kind == .secureTunnel ? NWProtocolTLS.Options() : nil)
            if hasPassword { proxy.applyCredential(username: Self.user, password: Self.password) }
            configuration.proxyConfigurations = [proxy]
        }
    }

    private func dictionary(_ keys: [String], hasPassword: Bool) -> [String: Any] {
        var dictionary: [String: Any] = [:]
        for key in keys {
            dictionary[key + "Enable"] = 1
            dictionary[key + "Proxy"] = Self.name
            dictionary[key + "Port"] = Int(port)
        }
        if hasPassword {
            dictionary["kCFProxyUsernameKey"] = Self.user
            dictionary["kCFProxyPasswordKey"] = Self.password
        }
        return dictionary
    }

    // MARK: the server

    func host(_ name: String) -> OriginServer? { hosts[name] }

    /// Nil if there is no such host, or nothing on the port.
    func endpoint(of host: String, port: Int, on wire: any Wire) -> (any Endpoint)? {
        guard port == 80 || port == 443 else { return nil }
        return hosts[host]?.endpoint(on: wire, isSecure: port == 443)
    }

    /// Nil if the request may pass.
    func challenge(to request: OriginServer.Request) -> OriginServer.Response? {
        for field in request.values(of: "proxy-authorization") {
            let expected = "Basic " + Data("\(Self.user):\(Self.password)".utf8).base64EncodedString()
            Law.require(field == expected, "a proxy gets its own password: \(field)")
            return nil
        }
        guard needsPassword else { return nil }
        return OriginServer.Response(
            status: 407, fields: [("Proxy-Authenticate", "Basic realm=\"\(Self.realm)\"")],
            body: Array("a password is needed".utf8))
    }
}

/// SOCKS5 (RFC 1928), on one connection.
private final class SOCKSEndpoint: Endpoint {
    private let proxy: ProxyServer
    private let wire: any Wire
    private var received: [UInt8] = []
    private var step = Step.greeting
    private var inner: (any Endpoint)?

    private enum Step { case greeting, password, request, open, closed }

    init(of proxy: ProxyServer, on wire: any Wire) { (self.proxy, self.wire) = (proxy, wire) }

    func receive(_ bytes: [UInt8]) {
        if step == .open {
            inner?.receive(bytes)
            return
        }
        received += bytes
        while true {
            let before = step
            switch step {
            case .greeting: takeGreeting()
            case .password: takePassword()
            case .request: takeRequest()
            case .open, .closed: return
            }
            if step == before { return }
        }
    }

    func end(isBroken: Bool) {
        step = .closed
        inner?.end(isBroken: isBroken)
    }

    private func takeGreeting() {
        guard received.count >= 2, received.count >= 2 + Int(received[1]) else { return }
        let methods = received[2..<2 + Int(received[1])]
        let wanted: UInt8 = proxy.needsPassword ? 2 : 0
        Law.require(received[0] == 5 && methods.contains(wanted), "a client of SOCKS5 offers method \(wanted)")
        received.removeFirst(2 + methods.count)
        wire.write([5, wanted])
        step = proxy.needsPassword ? .password : .request
    }

    private func takePassword() {
        guard received.count >= 2, received.count >= 3 + Int(received[1]) else { return }
        let userCount = Int(received[1]), passwordCount = Int(received[2 + userCount])
        guard received.count >= 3 + userCount + passwordCount else { return }
        let user = String(decoding: received[2..<2 + userCount], as: UTF8.self)
        let password = String(decoding: received[3 + userCount..<3 + userCount + passwordCount], as: UTF8.self)
        Law.require(user == ProxyServer.user && password == ProxyServer.password, "a proxy gets its own password")
        received.removeFirst(3 + userCount + passwordCount)
        wire.write([1, 0])
        step = .request
    }

    private func takeRequest() {
        guard received.count >= 5, received.count >= 7 + Int(received[4]) else { return }
        Law.require(Array(received[0..<4]) == [5, 1, 0, 3], "a client of SOCKS5 leaves the name to the proxy")
        let end = 5 + Int(received[4])
        let host = String(decoding: received[5..<end], as: UTF8.self)
        let port = Int(received[end]) << 8 | Int(received[end + 1])
        received.removeFirst(end + 2)
        inner = proxy.endpoint(of: host, port: port, on: wire)
        // Host unreachable.
        wire.write([5, inner == nil ? 4 : 0, 0, 1, 0, 0, 0, 0, 0, 0])
        guard let inner else {
            step = .closed
            return wire.finish()
        }
        step = .open
        if !received.isEmpty { inner.receive(received) }
        received = []
    }
}
