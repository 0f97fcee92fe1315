import Foundation
import Glibc
import TestSupport
import Testing
import URLLoading

/// Connection coalescing: one connection for several hosts of a server (RFC 9113 §9.1.1).
@Suite(.leavesNothing) struct CoalescingTests {
    private func server(
        _ names: CertificateProfile.Name...,
        script: @escaping @Sendable (HTTP2ServerConnection, _ number: Int) throws -> Void
    ) throws -> ScriptedServer {
        let profile = CertificateProfile.localhost.with { $0.names = names }
        let tls = try TrustedAuthority.server(profile).with { $0.applicationProtocols = ["h2", "http/1.1"] }
        return try ScriptedServer(tls: tls) { try script(HTTP2ServerConnection($0), $0.index) }
    }

    private func echo(_ http2: HTTP2ServerConnection, _ number: Int) throws {
        while true {
            let stream = try http2.readRequest()
            try http2.respond(on: stream, body: "\(number).\(stream)")
        }
    }

    private func using<Result>(
        _ delegate: (any URLSessionDelegate)? = nil, _ body: (URLSession) async throws -> Result
    ) async throws -> Result {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        return try await body(session)
    }

    private func text(
        _ session: URLSession, _ server: ScriptedServer, _ host: String, body: String? = nil, isStreamed: Bool = false,
        isSecure: Bool = false
    ) async throws -> String {
        var request = URLRequest(url: server.url("/", host: host))
        if isSecure { request.url = URL(string: "https://\(host):\(server.port)/") }
        if let body {
            request.httpMethod = "POST"
            if isStreamed {
                request.httpBodyStream = InputStream(data: Data(body.utf8))
            } else {
                request.httpBody = Data(body.utf8)
            }
        }
        return String(decoding: try await session.data(for: request).0, as: UTF8.self)
    }

    // CONN-3
    @Test("a name that leads to the same address, and that the certificate covers, shares the connection")
    func covered() async throws {
        let server = try server("a.localhost", "b.localhost", "c.localhost", script: echo)
        defer { server.stop() }
        try await using { session async throws in
            #expect(try await text(session, server, "a.localhost") == "0.1")
            #expect(try await text(session, server, "b.localhost") == "0.3")
            #expect(try await text(session, server, "b.localhost", body: "b") == "0.5")
            #expect(try await text(session, server, "a.localhost") == "0.7")
            async let one = text(session, server, "b.localhost")
            async let two = text(session, server, "c.localhost")
            #expect(Set(try await [one, two]) == ["0.9", "0.11"])
        }
        #expect(server.connectionCount == 1)
    }

    // CONN-3, PROXY-7: the address of a proxy is no server's
    @Test("a tunnel shares no connection that leads past its proxy, nor lends its own", arguments: [true, false])
    func tunnels(isDirectFirst: Bool) async throws {
        let server = try server("a.localhost", "b.localhost", script: echo)
        defer { server.stop() }
        let proxy = try ScriptedServer { connection in
            let first = try connection.receive()
            guard first.starts(with: "CONNECT ".utf8) else { return connection.reset() }
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            try connection.relay(to: server.port)
        }
        defer { proxy.stop() }
        let session = URLSession {
            $0.urlCache = nil
            var way = ProxyConfiguration(
                httpCONNECTProxy: .hostPort(host: "localhost", port: NWEndpoint.Port("\(proxy.port)") ?? 1))
            way.matchDomains = ["b.localhost"]
            $0.proxyConfigurations = [way]
        }
        defer { session.invalidateAndCancel() }
        if isDirectFirst {
            #expect(try await text(session, server, "a.localhost") == "0.1")
            #expect(try await text(session, server, "b.localhost") == "1.1")
        } else {
            // The proxy's own port, which does not support TLS.
            #expect(try await text(session, proxy, "b.localhost", isSecure: true) == "0.1")
            await #expect(throws: URLError.self) { try await text(session, proxy, "a.localhost", isSecure: true) }
        }
        #expect(proxy.connectionCount == (isDirectFirst ? 1 : 2))
        #expect(server.connectionCount == (isDirectFirst ? 2 : 1))
    }

    // CONN-3
    @Test("a name that the certificate does not cover gets a connection of its own") func notCovered() async throws {
        let server = try server("a.localhost", script: echo)
        defer { server.stop() }
        try await using { session async throws in
            #expect(try await text(session, server, "a.localhost") == "0.1")
            let error = await #expect(throws: URLError.self) { try await text(session, server, "b.localhost") }
            #expect(error?.code == .serverCertificateUntrusted)
            #expect(try await text(session, server, "a.localhost") == "0.3")
        }
        #expect(server.connectionCount == 2)
    }

    // CONN-3
    @Test(
        "a server that says that it is not that one is asked over a connection of its own",
        arguments: [(nil, false), ("body", false), ("body", true)])
    func misdirected(body: String?, isStreamed: Bool) async throws {
        let server = try server("a.localhost", "b.localhost") { http2, number in
            try http2.respond(on: try http2.readRequest(), body: "\(number).1")
            if number == 0 {
                try http2.respond(on: try http2.readRequest(), status: 421, body: "not me")
            }
            while true { try http2.respond(on: try http2.readRequest(), body: "\(number)") }
        }
        defer { server.stop() }
        let delegate = StreamingDelegate()
        try await using(delegate) { session async throws in
            #expect(try await text(session, server, "a.localhost") == "0.1")
            #expect(try await text(session, server, "b.localhost", body: body, isStreamed: isStreamed) == "1.1")
            #expect(delegate.questions.events == (isStreamed ? ["b.localhost"] : []))
            #expect(try await text(session, server, "b.localhost") == "1")
            #expect(try await text(session, server, "a.localhost") == "0")
        }
        #expect(server.connectionCount == 2)
    }

    // CONN-3: what a server has said of a name holds for each connection that could be shared, and for that name alone
    @Test("a name that was sent away is not tried there again") func remembered() async throws {
        let server = try server("a.localhost", "b.localhost", "c.localhost") { http2, number in
            switch number {
            case 0:
                try http2.respond(on: try http2.readRequest(), body: "a")
                try http2.respond(on: try http2.readRequest(), status: 421, body: "not me")
            case 1:
                // Gone behind its first response.
                let stream = try http2.readRequest()
                try http2.goAway(lastStream: stream)
                try http2.respond(on: stream, body: "b")
                return _ = try http2.connection.waitForClose()
            default: break
            }
            while true { try http2.respond(on: try http2.readRequest(), body: "\(number)") }
        }
        defer { server.stop() }
        try await using { session async throws in
            #expect(try await text(session, server, "a.localhost") == "a")
            #expect(try await text(session, server, "b.localhost", body: "1") == "b")
            #expect(try await text(session, server, "b.localhost", body: "2") == "2")
            #expect(try await text(session, server, "a.localhost") == "0")
            // Of all others nothing is known, and the connection to one of the two is theirs as well.
            #expect(["0", "2"].contains(try await text(session, server, "c.localhost")))
        }
        #expect(server.connectionCount == 3)
    }

    // C-9: different traffic classes are not coalesced
    @Test("requests of one service type share a connection, and no others") func serviceTypes() async throws {
        let server = try server("a.localhost", "b.localhost", script: echo)
        defer { server.stop() }
        try await using { session async throws in
            var answers: [String] = []
            for (host, type) in [
                ("a.localhost", .default), ("a.localhost", .background), ("b.localhost", .background),
                ("b.localhost", .default), ("b.localhost", .voice), ("a.localhost", .background),
            ] as [(String, URLRequest.NetworkServiceType)] {
                let request = URLRequest(url: server.url("/", host: host)).with { $0.networkServiceType = type }
                answers.append(String(decoding: try await session.data(for: request).0, as: UTF8.self))
            }
            #expect(answers == ["0.1", "1.1", "1.3", "0.3", "2.1", "1.5"])
            let classes = ClientSockets.values(of: IP_TOS, at: Int32(IPPROTO_IP), connectedTo: server.port)
            #expect(classes.sorted() == [0, 1 << 2, 46 << 2])
        }
        #expect(server.connectionCount == 3)
    }

    // CONN-3: a connection of its own that says so is believed
    @Test("421 over the name's own connection is a response like others") func ownMisdirected() async throws {
        let server = try server("a.localhost") { http2, _ in
            while true { try http2.respond(on: try http2.readRequest(), status: 421, body: "no") }
        }
        defer { server.stop() }
        try await using { session async throws in
            let (_, response) = try await session.data(from: server.url("/", host: "a.localhost"))
            #expect((response as? HTTPURLResponse)?.statusCode == 421)
        }
        #expect(server.connectionCount == 1)
    }

    // CONN-3, AUTH-3: a pinning delegate evaluates each host
    @Test("a delegate evaluates each coalesced host, and may refuse") func asked() async throws {
        let server = try server("a.localhost", "b.localhost", "c.localhost", script: echo)
        defer { server.stop() }
        let delegate = TrustingDelegate(refusing: "c.localhost")
        try await using(delegate) { session async throws in
            #expect(try await text(session, server, "a.localhost") == "0.1")
            #expect(try await text(session, server, "b.localhost") == "0.3")
            #expect(try await text(session, server, "b.localhost") == "0.5")
            await #expect(throws: URLError.self) { try await text(session, server, "c.localhost") }
            #expect(try await text(session, server, "a.localhost") == "0.7")
        }
        #expect(Set(delegate.hosts.events) == ["a.localhost", "b.localhost", "c.localhost"])
        #expect(delegate.hosts.events.prefix(2) == ["a.localhost", "b.localhost"])
    }

    // CONN-3, TLS-10: also where TLS 1.2 brings the response after the decision about the first host
    @Test("a coalesced host is evaluated with the stapled response", arguments: [false, true])
    func stapledResponse(isOld: Bool) async throws {
        let profile = CertificateProfile.localhost.with { $0.names = ["a.localhost", "b.localhost"] }
        let tls = try TrustedAuthority.server(profile).with {
            $0.applicationProtocols = ["h2"]
            $0.ocspResponse = try TrustedAuthority.authority.ocspResponse(for: $0.identity.certificate, status: .good)
            if isOld { $0.maximumVersion = .tls12 }
        }
        let server = try ScriptedServer(tls: tls) { try echo(HTTP2ServerConnection($0), $0.index) }
        defer { server.stop() }
        let verdicts = EventRecorder<String>()
        let log = ChallengeLog { challenge, reply in
            guard let trust = challenge.protectionSpace.serverTrust,
                let required = SecPolicyCreateRevocation(kSecRevocationRequirePositiveResponse)
            else { return reply(.cancelAuthenticationChallenge, nil) }
            let host = challenge.protectionSpace.host
            _ = SecTrustSetPolicies(trust, [SecPolicyCreateSSL(true, host as CFString), required] as CFArray)
            verdicts.record("\(host) \(SecTrustEvaluateWithError(trust, nil))")
            reply(.performDefaultHandling, nil)
        }
        try await using(SessionLevelDelegate(log)) { session async throws in
            #expect(try await text(session, server, "a.localhost") == "0.1")
            #expect(try await text(session, server, "b.localhost") == "0.3")
        }
        #expect(verdicts.events == ["a.localhost \(!isOld)", "b.localhost true"])
    }

    // CONN-3
    @Test("a connection that closes leaves none of the names behind") func closed() async throws {
        let server = try server("a.localhost", "b.localhost") { http2, number in
            try http2.respond(on: try http2.readRequest(), body: "\(number)")
            let second = try http2.readRequest()
            if number == 0 { try http2.goAway(lastStream: second) }
            try http2.respond(on: second, body: "\(number)")
            try http2.connection.waitForClose()
        }
        defer { server.stop() }
        try await using { session async throws in
            #expect(try await text(session, server, "a.localhost") == "0")
            #expect(try await text(session, server, "b.localhost") == "0")
            #expect(try await text(session, server, "b.localhost") == "1")
            #expect(try await text(session, server, "a.localhost") == "1")
        }
        #expect(server.connectionCount == 2)
    }
}

/// Provides a new body stream for each request.
private final class StreamingDelegate: NSObject, URLSessionTaskDelegate, Sendable {
    let questions = EventRecorder<String>()

    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
        questions.record(task.originalRequest?.url?.host ?? "")
        return InputStream(data: Data("body".utf8))
    }
}

/// Records each server's host, and accepts all except one.
private final class TrustingDelegate: NSObject, URLSessionDelegate, @unchecked Sendable {
    // Sendable: the recorder guards itself, the rest is constant.
    let hosts = EventRecorder<String>()
    private let refused: String

    init(refusing host: String) { refused = host }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let host = challenge.protectionSpace.host
        hosts.record(host)
        completionHandler(host == refused ? .cancelAuthenticationChallenge : .performDefaultHandling, nil)
    }
}
