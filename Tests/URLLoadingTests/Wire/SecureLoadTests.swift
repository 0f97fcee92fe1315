import Foundation
import TestSupport
import Testing
import URLLoading

/// Loads over https.
@Suite(.leavesNothing) struct SecureLoadTests {
    // TLS-4, TLS-11, ENC-1
    @Test("a load over each version", arguments: [(TLSServerOptions.Version.tls12, "TLSv1.2"), (.tls13, "TLSv1.3")])
    func aLoadOverEachVersion(version: TLSServerOptions.Version, name: String) async throws {
        let options = try TrustedAuthority.server().with {
            $0.minimumVersion = version
            $0.maximumVersion = version
            $0.applicationProtocols = ["h3000", "http/1.1"]
        }
        let server = try ScriptedServer.answering(tls: options) { .text($0["Host"] ?? "") }
        defer { server.stop() }
        let url = server.url(host: "localhost")
        #expect(
            try await LoadRecorder.load(url)
                == [.response(200), .data("localhost:\(server.port)"), .succeeded, .invalid])
        let handshake = try #require(server.connections.first?.handshake)
        #expect(handshake.version == name)
        #expect(handshake.serverName == "localhost")
        #expect(handshake.applicationProtocol == "http/1.1")
        #expect(server.requests.map { $0["Accept-Encoding"] } == ["gzip, deflate, br"])
    }

    // TLS-4, TLS-11: an address is no name
    @Test("a load from an address", arguments: ["127.0.0.1", "[::1]", "[0:0:0:0:0:0:0:1]"])
    func aLoadFromAnAddress(host: String) async throws {
        let server = try ScriptedServer.answering(.dualStack, tls: try TrustedAuthority.server()) { _ in .text("ok") }
        defer { server.stop() }
        let url = try #require(URL(string: "https://\(host):\(server.port)/"))
        #expect(try await LoadRecorder.load(url) == [.response(200), .data("ok"), .succeeded, .invalid])
        #expect(server.connections.map { $0.handshake?.serverName } == [nil])
    }

    // CONN-1, CONN-22
    @Test("bodies of any size in both directions over one connection")
    func bodiesOfAnySizeInBothDirectionsOverOneConnection() async throws {
        let server = try ScriptedServer.answering(tls: try TrustedAuthority.server()) { .bytes($0.body) }
        defer { server.stop() }
        try await URLSession.using { session in
            for length in [1, 16_383, 16_384, 16_385, 100_000, 3_000_001] {
                let body = Data([UInt8].pattern(count: length))
                let request = URLRequest(url: server.url()).with {
                    $0.httpMethod = "POST"
                    $0.httpBody = body
                }
                let data = try await session.data(for: request).0
                #expect((data == body) as Bool)
                let streamed = try await session.data(
                    for: request.with { $0.httpBodyStream = InputStream(data: body) }
                ).0
                #expect((streamed == body) as Bool)
            }
        }
        #expect(server.connectionCount == 1)
        #expect(try await server.connection(0).waitForEnd() == .closeNotify)
    }

    // TLS-8
    @Test("a session is resumed by the next connection, not by another session")
    func aSessionIsResumedByTheNextConnectionNotByAnotherSession() async throws {
        let server = try ScriptedServer.answering(tls: try TrustedAuthority.server()) { _ in .text("ok").closing() }
        defer { server.stop() }
        for _ in 0..<2 {
            try await URLSession.using { session in
                for _ in 0..<2 { _ = try await session.data(from: server.url(host: "localhost")) }
            }
        }
        #expect(server.connections.map { $0.handshake?.wasResumed } == [false, true, false, true])
    }

    // TLS-9, C-32: no replayable early data
    @Test("no early data, with any configuration", arguments: [false, true])
    func noEarlyData(isEnabled: Bool) async throws {
        let server = try ScriptedServer.answering(tls: try TrustedAuthority.server()) { _ in .text("ok").closing() }
        defer { server.stop() }
        try await URLSession.using({ $0.enablesEarlyData = isEnabled }) { session in
            for _ in 0..<2 { _ = try await session.data(from: server.url(host: "localhost")) }
        }
        #expect(server.connections.map { $0.handshake?.wasResumed } == [false, true])
        let hellos = server.connections.map(\.clientHello)
        #expect(hellos.map { $0?.has(.preSharedKey) } == [false, true])
        #expect(hellos.map { $0?.has(.earlyData) } == [false, false])
    }

    // TLS-4: whole, or not to be completed
    @Test("a chain with an intermediate authority") func aChainWithAnIntermediateAuthority() async throws {
        let identity = try TrustedAuthority.authority.intermediate().issue(.localhost)
        let whole = try ScriptedServer.answering(tls: TLSServerOptions(identity)) { _ in .text("ok") }
        defer { whole.stop() }
        #expect(try await LoadRecorder.load(whole.url()) == [.response(200), .data("ok"), .succeeded, .invalid])
        let part = try ScriptedServer.answering(tls: TLSServerOptions(identity).with { $0.sentChain = [] }) { _ in
            .text("never")
        }
        defer { part.stop() }
        #expect(
            try await LoadRecorder.load(part.url()) == [.failed(.serverCertificateHasUnknownRoot), .invalid])
    }

    // CONN-23 over TLS: records of one byte each
    @Test("a response byte by byte") func aResponseByteByByte() async throws {
        let server = try ScriptedServer(
            tls: try TrustedAuthority.server(),
            steps: [
                .expectRequest,
                .sendByteByByte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
                .waitForClose,
            ])
        defer { server.stop() }
        #expect(try await LoadRecorder.load(server.url()) == [.response(200), .data("hello"), .succeeded, .invalid])
    }
}
