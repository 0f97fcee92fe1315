import Foundation
import TestSupport
import Testing
import URLLoading

/// HTTP/3 because of an HTTPS record, with the system's resolver and gtlsserver. Each test has its own process and
/// network.
@Suite(
    .needsHTTP3, .inNetworkNamespace, .needsNetworkNamespace, .needsNameServer, .needs(.gtlsserver),
    .timeLimit(.minutes(1)))
struct HTTPSRecordTests {
    private static let home: [UInt8] = [127, 0, 0, 1]

    private static func name(_ text: String) -> [UInt8] {
        text.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + $0.utf8 } + [0]
    }

    /// The data of an HTTPS record with an HTTP/3 service.
    private static func record(_ target: String, port: Int? = nil, _ version: String = "h3") -> [UInt8] {
        var data: [UInt8] = [0, 1] + name(target)
        data += [0, 1, 0, UInt8(version.utf8.count + 1), UInt8(version.utf8.count)] + Array(version.utf8)
        if let port { data += [0, 3, 0, 2, UInt8(port >> 8), UInt8(port & 0xFF)] }
        return data
    }

    private func server(_ name: String, port: Int? = nil) throws -> GtlsServer {
        try GtlsServer(
            files: ["small": Array("small".utf8)], authority: TrustedAuthority.authority,
            profile: .server(CertificateProfile.Name(name)), port: port)
    }

    /// Loads `/small` of `a.example` twice, and returns the protocols.
    private func versions(
        of server: ScriptedServer?, records: @escaping @Sendable (String) -> NameServer.Answer
    ) async throws -> [String?] {
        let names = try NameServer { question in
            switch question.type {
            case .ipv4: .address(Self.home)
            case .ipv6: .nothing
            case .https: records(question.name)
            }
        }
        defer { names.stop() }
        await URLSession.shared.flush()
        let text = server?.url("/small", host: "a.example").absoluteString ?? "https://a.example/small"
        let url = try #require(URL(string: text))
        return try await TransactionRecorder.record(isDirect: true) { session, metrics async throws in
            for _ in 0..<2 {
                #expect(String(decoding: try await session.data(from: url).0, as: UTF8.self) == "small")
            }
            let transactions = try await metrics.transactions.waitFor(count: 2)
            let first = try #require(transactions.first)
            let start = try #require(first.domainLookupStartDate)
            let end = try #require(first.domainLookupEndDate)
            #expect(start <= end)
            return transactions.map(\.networkProtocolName)
        }
    }

    private func tcpServer() throws -> ScriptedServer {
        try ScriptedServer.answering(tls: TrustedAuthority.server(.server("a.example"))) { _ in .text("small") }
    }

    // CONN-6, RFC 9460 §9: there is no TCP server
    @Test("a server at its own place") func own() async throws {
        try NetworkNamespace.raiseLoopback()
        let quic = try server("a.example", port: 443)
        defer { quic.stop() }
        let versions = try await versions(of: nil) { name in
            name == "a.example" ? .records([Self.record("")], lifetime: 60) : .nothing
        }
        #expect(versions == ["h3", "h3"])
    }

    // CONN-6, RFC 9460 §2.4.2, §9.1: the question is about the port, its answer another name
    @Test("a server that an alias leads to, at another port") func alias() async throws {
        try NetworkNamespace.raiseLoopback()
        let quic = try server("a.example")
        defer { quic.stop() }
        let tcp = try tcpServer()
        defer { tcp.stop() }
        let versions = try await versions(of: tcp) { [origin = tcp.port, port = quic.port] name in
            switch name {
            case "_\(origin)._https.a.example": .records([[0, 0] + Self.name("b.example")], lifetime: 60)
            case "b.example": .records([Self.record("c.example", port: port)], lifetime: 60)
            default: .nothing
            }
        }
        #expect(versions == ["h3", "h3"])
        #expect(tcp.connectionCount == 0)
    }

    // CONN-6
    @Test("a record without HTTP/3, and none at all", arguments: [true, false])
    func without(isThere: Bool) async throws {
        try NetworkNamespace.raiseLoopback()
        let tcp = try tcpServer()
        defer { tcp.stop() }
        let datagrams = try SilentDatagramPort(tcp.port)
        defer { datagrams.close() }
        let versions = try await versions(of: tcp) { _ in
            isThere ? .records([Self.record("a.example", "h2")], lifetime: 60) : .noSuchName
        }
        #expect(versions == ["http/1.1", "http/1.1"])
        #expect(!datagrams.hasReceived)
        #expect(tcp.connectionCount == 1)
    }

    // CONN-6: no load waits until the resolver gives up, which takes seconds
    @Test("name servers that do not answer that query") func silence() async throws {
        try NetworkNamespace.raiseLoopback()
        let tcp = try tcpServer()
        defer { tcp.stop() }
        let start = ContinuousClock.now
        let versions = try await versions(of: tcp) { _ in .silence }
        #expect(versions == ["http/1.1", "http/1.1"])
        #expect(ContinuousClock.now - start < .seconds(4))
    }
}
