import Foundation
import TestSupport
import Testing
import URLLoading

/// Lost routes that are hard to detect; see `RouteTests` for other cases.
@Suite(.inNetworkNamespace, .needsNetworkNamespace, .timeLimit(.minutes(1))) struct RouteLossTests {
    private static let goAway: UInt8 = 7

    // CONN-10, S-8: the interface stays up, with its address, and goes nowhere
    @Test("an idle connection is not used after its link is lost") func carrier() async throws {
        let far = try RemoteNetwork()
        let server = try far.perform {
            try ScriptedServer(.everywhere) { connection in
                while let request = try connection.nextRequest() {
                    try connection.send(.text("\(connection.index)"), to: request)
                }
            }
        }
        defer { server.stop() }
        let url = server.url("/", host: RemoteNetwork.address)
        let session = URLSession { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        #expect(try await session.text(url) == "0")
        try far.perform { try NetworkNamespace.ip("link", "set", "far", "down") }
        try await eventually { !Loopback.hasConnection(to: server.port) }
        try far.perform { try NetworkNamespace.ip("link", "set", "far", "up") }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        #expect(String(decoding: try await session.data(for: request).0, as: UTF8.self) == "1")
        #expect(server.connectionCount == 2)
    }

    // CONN-10, CONN-11: after GOAWAY, so no other request uses it
    @Test("a load on a connection after GOAWAY fails when its route is lost")
    func afterGOAWAY() async throws {
        let far = try RemoteNetwork()
        let tls = try TrustedAuthority.server(.server(CertificateProfile.Name(RemoteNetwork.address))).with {
            $0.applicationProtocols = ["h2"]
        }
        let server = try far.perform {
            try ScriptedServer(.everywhere, tls: tls) { connection in
                let http2 = try HTTP2ServerConnection(connection)
                let stream = try http2.readRequest()
                try http2.sendHead(on: stream, fields: [("content-length", "5")])
                try http2.send(Self.goAway, stream: 0, [0, 0, 0, UInt8(truncatingIfNeeded: stream), 0, 0, 0, 0])
                try http2.sendBody(Array("he".utf8), on: stream, ends: false)
                _ = try connection.waitForClose()
            }
        }
        defer { server.stop() }
        let session = URLSession { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        let (bytes, _) = try await session.bytes(from: server.url("/", host: RemoteNetwork.address))
        var iterator = bytes.makeAsyncIterator()
        _ = try await iterator.next()
        // The first change affects another connection.
        let other = try far.perform { try ScriptedServer.answering(.everywhere) { .text($0.target) } }
        defer { other.stop() }
        let neighbour = URLSession { _ in }
        defer { neighbour.invalidateAndCancel() }
        #expect(try await neighbour.text(other.url("/", host: "[\(RemoteNetwork.address6)]")) == "/")
        try NetworkNamespace.ip("address", "del", "fd00::1/64", "dev", "near")
        try await eventually { !Loopback.hasConnection(to: other.port) }
        let start = ContinuousClock.now
        try NetworkNamespace.ip("address", "del", "10.0.0.1/24", "dev", "near")
        let error = await #expect(throws: URLError.self) { while try await iterator.next() != nil {} }
        #expect(error?.code == .networkConnectionLost)
        #expect(ContinuousClock.now - start < .seconds(10))
    }
}
