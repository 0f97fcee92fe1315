import Foundation
import TestSupport
import Testing
import URLLoading

/// Servers that break the rules of HTTP/3 or of QUIC, and servers that send without end: whole sessions.
@Suite(.needsHTTP3, .serialized, .needs(.aioquic), .hostileServer) struct HTTP3HostileTests {
    /// What a client may hold for one: a response's head of 256 KiB, some copies of it, windows, and buffers.
    private static let mostMemory = 8 << 20
    /// A client has to have been sent ten thousand packets before it may call that a flood, by a server in Python.
    private static let timeout = Duration.seconds(60)

    private func request(_ host: String, _ path: String) throws -> URLRequest {
        let port = try #require(HostileServerTrait.server).port
        var request = URLRequest(url: try #require(URL(string: "https://\(host):\(port)\(path)")))
        request.assumesHTTP3Capable = true
        return request
    }

    private func load(_ attack: HTTP3Attack) async throws {
        let server = try #require(HostileServerTrait.server)
        let handshakes = server.events.count { $0 == "handshake" }
        // Where TCP is refused, a server that is slow with QUIC counts as not there, and this one may be at an
        // attack still. So TCP neither succeeds nor fails, but for an attack on the handshake itself.
        let tcp = attack.connections > 1 ? nil : try? SaturatedPort(port: server.port)
        defer { withExtendedLifetime(tcp) {} }
        let ends = EventRecorder<String>()
        let why = Watched<String>("")
        try await TransactionRecorder.record(isDirect: true) { session, _ async throws in
            let memory = try MemoryWatch()
            session.dataTask(with: try request("127.0.0.1", attack.path)) { data, _, error in
                let text = data.map { String(decoding: $0, as: UTF8.self) } ?? ""
                why.withValue { $0 = String(describing: (error as? URLError)?.userInfo[NSUnderlyingErrorKey]) }
                ends.record(error.map { "\(($0 as? URLError)?.code.rawValue ?? 0)" } ?? text)
            }.resume()
            let end = try await ends.waitFor(count: 1, within: Self.timeout)
            #expect(end == [attack.end], "\(why.current)")
            if attack.code != nil {
                let code = try await server.wait(for: attack.path + " ", within: Self.timeout)
                #expect(code == attack.code, "\(why.current) \(server.events.suffix(4))")
            }
            let growth = memory.growth()
            #expect(growth < Memory.limit(Self.mostMemory), "\(growth) bytes")
            // Where the connection goes on so does the server. For another name it is another one in any case: this
            // one may be left alone for a while.
            let hosts =
                attack.code == nil && !["/goaway", "/table"].contains(attack.path)
                ? ["127.0.0.1", "localhost"] : ["localhost"]
            for host in hosts {
                let text = (try? await session.data(for: request(host, "/well")).0).map {
                    String(decoding: $0, as: UTF8.self)
                }
                #expect(text == "well", "\(why.current) \(server.events.suffix(4))")
            }
        }
        #expect(ends.count == 1)
        #expect(server.events.count { $0 == "handshake" } - handshakes == attack.connections + 1)
    }

    // ERR-7
    @Test("HTTP/3 protocol violations", arguments: HTTP3Attack.http) func http(attack: HTTP3Attack) async throws {
        try await load(attack)
    }

    // ERR-7
    @Test("QUIC protocol violations", arguments: HTTP3Attack.quic) func quic(attack: HTTP3Attack) async throws {
        try await load(attack)
    }

    // ERR-7, CONN-22
    @Test("a flood ends the connection, with little memory", arguments: HTTP3Attack.floods)
    func floods(attack: HTTP3Attack) async throws { try await load(attack) }

    // CONN-22
    @Test("a flood after the load", arguments: HTTP3Attack.after)
    func after(attack: HTTP3Attack) async throws { try await load(attack) }

    // ERR-7, CONN-27: the connection goes on
    @Test("responses that are none", arguments: HTTP3Attack.responses)
    func responses(attack: HTTP3Attack) async throws { try await load(attack) }

    // RFC 9000 §13, RFC 9114 §9
    @Test("oddities that do no harm", arguments: HTTP3Attack.harmless)
    func harmless(attack: HTTP3Attack) async throws { try await load(attack) }
}

/// One server for all tests of a suite, since it takes half a second to start.
struct HostileServerTrait: SuiteTrait, TestScoping {
    @TaskLocal static var server: HostileServer?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let server = try HostileServer(TrustedAuthority.authority)
        defer { server.stop() }
        try await Self.$server.withValue(server) { try await function() }
    }
}

extension Trait where Self == HostileServerTrait {
    static var hostileServer: Self { Self() }
}
