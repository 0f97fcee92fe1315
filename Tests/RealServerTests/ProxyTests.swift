import Foundation
import TestSupport
import Testing
import URLLoading

/// Loads through real proxies, verified with their logs.
@Suite(.needs(.nginx)) struct ProxyTests {
    private let server: NginxServer

    init() throws {
        var options = NginxServer.Options()
        options.listensOnBothLoopbacks = true
        server = try NginxServer(
            files: ["small": Array("small".utf8), "big": Self.big], authority: try TrustedAuthority.authority,
            options: options)
    }

    private static let big = [UInt8].pattern(count: 3_000_000)

    private func expectLoads(
        through settings: [AnyHashable: Any], isSecure: Bool, _ delegate: (any URLSessionDelegate)? = nil
    ) async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.connectionProxyDictionary = settings.merging(["ExceptionsList": ["<-loopback>"]]) { $1 }
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        func url(_ path: String) -> URL { isSecure ? server.secureURL(path) : server.url(path, host: "localhost") }
        let (small, response) = try await session.data(from: url("/small"))
        #expect(String(decoding: small, as: UTF8.self) == "small")
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(try await session.data(from: url("/big")).0 == Data(Self.big))
        var request = URLRequest(url: url("/upload"))
        request.httpMethod = "POST"
        let (_, uploaded) = try await session.upload(for: request, from: Data(Self.big))
        #expect((uploaded as? HTTPURLResponse)?.statusCode == 200)
    }

    // PROXY-1, PROXY-2, PROXY-5
    @Test("squid", .needs(.squid), arguments: [false, true], [false, true])
    func squid(isSecure: Bool, asksWho: Bool) async throws {
        defer { server.stop() }
        let squid = try SquidProxy(asking: asksWho ? .basic : nil)
        defer { squid.stop() }
        let name = isSecure ? "HTTPS" : "HTTP"
        var settings: [AnyHashable: Any] = [
            "\(name)Enable": 1, "\(name)Proxy": "127.0.0.1", "\(name)Port": squid.port,
        ]
        if asksWho {
            settings[kCFProxyUsernameKey] = SquidProxy.user
            settings[kCFProxyPasswordKey] = SquidProxy.password
        }
        try await expectLoads(through: settings, isSecure: isSecure)
        squid.stop()
        let lines = squid.log
        if isSecure {
            #expect(lines == ["TCP_TUNNEL/200 CONNECT localhost:\(server.securePort)"])
        } else {
            #expect(lines.count == 3, "\(lines)")
            #expect(lines.allSatisfy { $0.contains(" http://localhost:\(server.port)/") }, "\(lines)")
        }
    }

    // PROXY-10, AUTH-28
    @Test("squid does not let us through", .needs(.squid)) func squidRefuses() async throws {
        defer { server.stop() }
        let squid = try SquidProxy(asking: .basic)
        defer { squid.stop() }
        let error = await #expect(throws: URLError.self) {
            try await expectLoads(
                through: ["HTTPSEnable": 1, "HTTPSProxy": "127.0.0.1", "HTTPSPort": squid.port], isSecure: true)
        }
        #expect(error?.code == .cannotConnectToHost)
        #expect((error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == 310)
    }

    /// Answers proxy challenges, and counts them.
    private final class Delegate: NSObject, URLSessionTaskDelegate, Sendable {
        let asked = EventRecorder<String>()

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            let space = challenge.protectionSpace
            guard space.isProxy() else { return completionHandler(.performDefaultHandling, nil) }
            asked.record("\(space.authenticationMethod.dropFirst(25)) \(space.realm ?? "-")")
            completionHandler(
                .useCredential,
                URLCredential(user: SquidProxy.user, password: SquidProxy.password, persistence: .forSession))
        }
    }

    private func settings(_ squid: SquidProxy, isSecure: Bool) -> [AnyHashable: Any] {
        let name = isSecure ? "HTTPS" : "HTTP"
        return ["\(name)Enable": 1, "\(name)Proxy": "localhost", "\(name)Port": squid.port]
    }

    // AUTH-18, AUTH-28, PROXY-2
    @Test("squid asks", .needs(.squid), arguments: [false, true], [false, true])
    func squidAsks(isSecure: Bool, isDigest: Bool) async throws {
        defer { server.stop() }
        let squid = try SquidProxy(asking: isDigest ? .digest : .basic)
        defer { squid.stop() }
        let delegate = Delegate()
        try await expectLoads(through: settings(squid, isSecure: isSecure), isSecure: isSecure, delegate)
        #expect(delegate.asked.events == [isDigest ? "HTTPDigest r" : "HTTPBasic r"])
        squid.stop()
        // The question, and then no other.
        #expect(squid.log.filter { $0.contains("/407 ") }.count == 1, "\(squid.log)")
    }

    // AUTH-18, PROXY-2: the settings' user, without a question
    @Test("squid asks the settings for Digest", .needs(.squid), arguments: [false, true])
    func squidAsksSettings(isSecure: Bool) async throws {
        defer { server.stop() }
        let squid = try SquidProxy(asking: .digest)
        defer { squid.stop() }
        let delegate = Delegate()
        let settings = settings(squid, isSecure: isSecure).merging([
            kCFProxyUsernameKey: SquidProxy.user, kCFProxyPasswordKey: SquidProxy.password,
        ]) { $1 }
        try await expectLoads(through: settings, isSecure: isSecure, delegate)
        #expect(delegate.asked.events.isEmpty)
        squid.stop()
        #expect(squid.log.contains { $0.contains("/200 ") }, "\(squid.log)")
    }

    // AUTH-19, AUTH-20, AUTH-28: authenticated with a ticket
    @Test("squid wants a ticket", .needs(.squid), .needs(.krb5kdc), arguments: [false, true])
    func squidWantsTicket(isSecure: Bool) async throws {
        defer { server.stop() }
        let realm = try KerberosRealm.shared()
        let squid = try SquidProxy(asking: .negotiate(realm))
        defer { squid.stop() }
        try realm.getTicket()
        defer { realm.removeTicket() }
        let delegate = Delegate()
        try await expectLoads(through: settings(squid, isSecure: isSecure), isSecure: isSecure, delegate)
        #expect(delegate.asked.events.isEmpty)
        squid.stop()
        #expect(squid.log.contains { $0.contains("/200 ") }, "\(squid.log)")
    }

    // PROXY-5
    @Test("dante", .needs(.danted), arguments: [false, true]) func dante(isSecure: Bool) async throws {
        defer { server.stop() }
        let dante = try DanteProxy()
        defer { dante.stop() }
        try await expectLoads(
            through: ["SOCKSEnable": 1, "SOCKSProxy": "127.0.0.1", "SOCKSPort": dante.port], isSecure: isSecure)
        let connections = dante.log.filter { $0.contains("tcp/connect [") }
        #expect(
            connections.count == 1 && connections[0].hasSuffix(".\(isSecure ? server.securePort : server.port)"),
            "\(dante.log)")
    }

    // PROXY-2, PROXY-5
    @Test("microsocks, with a user and a password", .needs(.microsocks), arguments: [false, true])
    func microsocks(isSecure: Bool) async throws {
        defer { server.stop() }
        let proxy = try MicrosocksProxy()
        defer { proxy.stop() }
        try await expectLoads(
            through: [
                "SOCKSEnable": 1, "SOCKSProxy": "127.0.0.1", "SOCKSPort": proxy.port,
                kCFStreamPropertySOCKSUser: MicrosocksProxy.user,
                kCFStreamPropertySOCKSPassword: MicrosocksProxy.password,
            ], isSecure: isSecure)
        let connections = proxy.log.filter { $0.contains("connected to") }
        #expect(
            connections.count == 1
                && connections[0].hasSuffix("localhost:\(isSecure ? server.securePort : server.port)"),
            "\(proxy.log)")
    }
}
