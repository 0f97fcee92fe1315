import Foundation
import TestSupport
import Testing
import URLLoading

/// HTTP/3 servers that are not authoritative for the requested host (421, or another certificate).
@Suite(.needsHTTP3, .needs(.aioquic)) struct HTTP3MisdirectedTests {
    private static let names: CertificateProfile = .server("a.localhost", "b.localhost")

    /// A TCP server that returns the requested host, and advertises an alternative service if given.
    private func tcpServer(naming place: Int? = nil) throws -> ScriptedServer {
        try ScriptedServer.answering(tls: TrustedAuthority.server(Self.names)) { request in
            var response = CannedResponse.text("tcp \(request.method)")
            if let place {
                response = response.with(field: "Alt-Svc", "h3=\"127.0.0.1:\(place)\"; ma=60")
                // Else that connection would carry what comes next.
                response.keepsAlive = false
            }
            return response
        }
    }

    private func text(
        _ session: URLSession, _ url: URL, _ method: String = "GET", assumesHTTP3: Bool = false
    ) async throws -> String {
        var request = URLRequest(url: url)
        request.httpMethod = method
        if method == "POST" { request.httpBody = Data("body".utf8) }
        request.assumesHTTP3Capable = assumesHTTP3
        return String(decoding: try await session.data(for: request).0, as: UTF8.self)
    }

    // CONN-3, MET-7: the name leads to the same address, its certificate is good, and the server says no
    @Test("a name that shares a connection is asked over one of its own", arguments: ["GET", "POST"])
    func shared(method: String) async throws {
        let tcp = try tcpServer()
        defer { tcp.stop() }
        let quic = try DecliningServer(
            ["b.localhost"], TrustedAuthority.authority, profile: Self.names, at: tcp.port)
        defer { quic.stop() }
        let (a, b) = (tcp.url("/", host: "a.localhost"), tcp.url("/", host: "b.localhost"))
        try await TransactionRecorder.record(isDirect: true) { session, metrics async throws in
            // TCP wins while the server's first handshake takes longer than the head start (CONN-6).
            var overTCP = 0
            while try await text(session, a, assumesHTTP3: true) != "h3", overTCP < 100 { overTCP += 1 }
            #expect(try await text(session, b, method) == "tcp \(method)")
            #expect(try await text(session, b) == "tcp GET")
            #expect(try await text(session, a) == "h3")
            // The rejected transaction is in the metrics too.
            let transactions = try await metrics.transactions.waitFor(count: overTCP + 5).suffix(5)
            #expect(transactions.map(\.networkProtocolName) == ["h3", "h3", "http/1.1", "http/1.1", "h3"])
            #expect(transactions.dropFirst().map(\.isReusedConnection) == [true, false, true, true])
        }
        #expect(quic.events == ["connection", "GET a.localhost", "\(method) b.localhost", "GET a.localhost"])
        #expect(tcp.requests.filter { $0["Host"]?.hasPrefix("b.") == true }.count == 2)
    }

    // CONN-3
    @Test("421 over the name's own connection is a response like others") func own() async throws {
        let tcp = try tcpServer()
        defer { tcp.stop() }
        let quic = try DecliningServer(
            ["a.localhost"], TrustedAuthority.authority, profile: Self.names, at: tcp.port)
        defer { quic.stop() }
        try await TransactionRecorder.record(isDirect: true) { session, _ async throws in
            var request = URLRequest(url: tcp.url("/", host: "a.localhost"))
            request.assumesHTTP3Capable = true
            let (_, response) = try await session.data(for: request)
            #expect((response as? HTTPURLResponse)?.statusCode == 421)
        }
        #expect(quic.events == ["connection", "GET a.localhost"])
        #expect(tcp.connectionCount == 0)
    }

    enum Refusal: CaseIterable {
        /// The server answers 421.
        case declined
        /// Its certificate is valid for another host only.
        case certificate
    }

    // CONN-6, CONN-8, RFC 7838 §6: what becomes of one origin at a place says nothing about the other
    @Test(
        "of two origins that name one place one is refused there", arguments: Refusal.allCases, ["GET", "POST"])
    func oneOfTwo(refusal: Refusal, method: String) async throws {
        let quic = try DecliningServer(
            refusal == .declined ? ["b.localhost"] : [], TrustedAuthority.authority,
            profile: refusal == .certificate ? .server("a.localhost") : Self.names)
        defer { quic.stop() }
        let tcp = try tcpServer(naming: quic.port)
        defer { tcp.stop() }
        let (a, b) = (tcp.url("/", host: "a.localhost"), tcp.url("/", host: "b.localhost"))
        try await TransactionRecorder.record(isDirect: true) { session, metrics async throws in
            for url in [b, a] { #expect(try await text(session, url) == "tcp GET") }
            // Each time it is named anew, and not gone to again.
            for _ in 0..<2 { #expect(try await text(session, b, method) == "tcp \(method)") }
            for _ in 0..<2 { #expect(try await text(session, a, method) == "h3") }
            #expect(try await text(session, b) == "tcp GET")
            let sentAway: [String?] = refusal == .declined ? ["h3"] : []
            let transactions = try await metrics.transactions.waitFor(count: 7 + sentAway.count)
            let tcp: String? = "http/1.1"
            #expect(
                transactions.map(\.networkProtocolName) == [tcp, tcp] + sentAway + [tcp, tcp, "h3", "h3", tcp])
        }
        let asked = refusal == .declined ? ["\(method) b.localhost"] : []
        #expect(
            quic.events == ["connection"] + asked
                + ["connection", "\(method) a.localhost", "\(method) a.localhost"])
    }
}
