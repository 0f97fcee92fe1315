import Foundation
import TestSupport
import Testing
import URLLoading

/// Servers that break the rules of QUIC before its handshake is through, or send without end: whole sessions. There
/// is TCP beside them, which is there for that.
@Suite("HTTP/3, hostile handshakes", .needsHTTP3, .serialized, .needs(.aioquic)) struct HTTP3HandshakeTests {
    /// What a client may hold for one.
    private static let mostMemory = 8 << 20

    private func load(_ attack: String) async throws -> [String] {
        let tcp = try ScriptedServer.answering(tls: TrustedAuthority.server(.localhost)) { _ in .text("tcp") }
        defer { tcp.stop() }
        let attacker = try HandshakeAttacker(attack, TrustedAuthority.authority, at: tcp.port)
        defer { attacker.stop() }
        var request = URLRequest(url: tcp.url("/"))
        request.assumesHTTP3Capable = true
        try await TransactionRecorder.record(isDirect: true) { session, metrics async throws in
            let memory = try MemoryWatch()
            for _ in 0..<2 {
                let (data, _) = try await session.data(for: request)
                #expect(String(decoding: data, as: UTF8.self) == "tcp")
            }
            let growth = memory.growth()
            #expect(growth < Memory.limit(Self.mostMemory), "\(growth) bytes")
            // What breaks a rule behind its handshake may have got the request before.
            let versions = metrics.transactions.events.map(\.networkProtocolName)
            #expect(versions.suffix(2) == ["http/1.1", "http/1.1"], "\(versions)")
        }
        return try await attacker.end(within: .seconds(60))
    }

    // CONN-6, CONN-8, ERR-7
    @Test(
        "what breaks a rule ends the handshake",
        arguments: [
            // GnuTLS keeps what is announced, so its length is bounded here. Version 3.8.9 counts certificates itself.
            ("long-certificate", ["0xd", "0xc"]), ("long-hello", ["0xd"]), ("hello-retries", ["0x10a"]),
        ])
    func broken(attack: String, codes: [String]) async throws {
        let events = try await load(attack)
        #expect(codes.map { ["hello", "closed \($0)", "over"] }.contains(events))
    }

    // CONN-6, CONN-8, ERR-7: GnuTLS would have ngtcp2 take keys that it has (RFC 9001 §6)
    @Test("another's keys are none of QUIC's") func keyUpdate() async throws {
        let events = try await load("key-update")
        #expect(events == ["hello", "closed 0x10a", "over"])
    }

    // CONN-6, CONN-8
    @Test(
        "what comes without end is left for TCP",
        arguments: [
            "pings", "many-pings", "no-frames", "retries", "versions", "keyless", "short-heads",
            // An attacker on the path may have sent these, so ngtcp2 ignores them.
            "far-hello", "gaps", "unknown-frame", "stream-frame",
        ])
    func endless(attack: String) async throws {
        let events = try await load(attack)
        #expect(events.first == "hello" && events.last == "over", "\(events)")
    }
}
