import Foundation
import TestSupport
import Testing
import URLLoading

/// Uploads over a slow link: the kernel accepts much of a body at once, and the server receives it much later.
@Suite(.inNetworkNamespace, .needsNetworkNamespace, .needs(.gtlsserver), .timeLimit(.minutes(1)))
struct SlowUploadTests {
    private static let size = 800_000
    /// Most of the body goes into the kernel, and takes three seconds from there.
    private static let timeout = 0.5

    enum Version: String, CaseIterable {
        case http1 = "http/1.1"
        case http2 = "h2"
        case http3 = "h3"
    }

    /// Answers when it has all of the body, if it reads that far.
    private func server(_ version: Version, in far: RemoteNetwork, reading most: Int = .max) throws -> any Stoppable {
        let profile = CertificateProfile.server(CertificateProfile.Name(RemoteNetwork.address))
        if version == .http3 {
            let authority = try TrustedAuthority.authority
            return try far.perform {
                try GtlsServer(
                    files: ["post": Array("got it".utf8)], authority: authority, profile: profile, isEverywhere: true)
            }
        }
        let tls = try TrustedAuthority.server(profile).with { $0.applicationProtocols = [version.rawValue] }
        return try far.perform {
            try ScriptedServer(.everywhere, tls: tls) { connection in
                do {
                    if version == .http2 {
                        // All of the body may come at once.
                        let http2 = try HTTP2ServerConnection(connection, settings: [(4, 0x7FFF_FFFF)])
                        try http2.send(HTTP2ServerConnection.FrameType.windowUpdate, stream: 0, [0x40, 0, 0, 0])
                        let stream = try http2.readRequest()
                        var count = 0
                        while count < Self.size {
                            if count >= most { try connection.stopReading() }
                            count += try http2.readFrame(HTTP2ServerConnection.FrameType.data).payload.count
                        }
                        try http2.respond(on: stream, body: "got it")
                    } else {
                        _ = try connection.readRequestHead()
                        _ = try connection.receive(exactly: min(Self.size, most))
                        if most < Self.size { try connection.stopReading() }
                        try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ngot it")
                    }
                    try connection.waitForClose()
                } catch  where connection.record.end != nil {
                    return
                }
            }
        }
    }

    private func upload(to port: Int, _ version: Version) async throws -> (text: String, seconds: Double) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = Self.timeout
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: try #require(URL(string: "https://\(RemoteNetwork.address):\(port)/post")))
        request.httpMethod = "POST"
        request.assumesHTTP3Capable = version == .http3
        let start = ContinuousClock.now
        let text: String
        do {
            text = String(
                decoding: try await session.upload(for: request, from: Data(count: Self.size)).0, as: UTF8.self)
        } catch let error as URLError {
            text = "\(error.errorCode)"
        }
        return (text, (ContinuousClock.now - start) / .seconds(1))
    }

    // CONN-15, CONN-17: what the server acknowledges is progress
    @Test("a slow upload has its time", arguments: Version.allCases) func slow(version: Version) async throws {
        let far = try RemoteNetwork()
        let server = try server(version, in: far)
        defer { server.stop() }
        // The handshake is not what is slow.
        try NetworkNamespace.limit("near", bitsPerSecond: 2_000_000, queue: 1_000_000)
        let (text, seconds) = try await upload(to: server.port, version)
        #expect(text == "got it")
        #expect(seconds > 2)
    }

    // CONN-15: a stalled receiver does not extend the timeout
    @Test("a stuck upload ends at its time", arguments: [Version.http1, .http2]) func stuck(version: Version)
        async throws
    {
        let far = try RemoteNetwork()
        let server = try server(version, in: far, reading: 1000)
        defer { server.stop() }
        let (text, seconds) = try await upload(to: server.port, version)
        #expect(text == "-1001")
        #expect((Self.timeout..<Self.timeout * 3).contains(seconds))
    }

    // CONN-15, CONN-17: what was acknowledged before, and the answers to PINGs, are no progress
    @Test("a stuck upload over HTTP/3 ends at its time", .needsHTTP3, .needs(.aioquic))
    func stuckOverHTTP3() async throws {
        let far = try RemoteNetwork()
        let most = 4000
        let server = try far.perform {
            try StuckServer(
                taking: most, TrustedAuthority.authority,
                profile: .server(CertificateProfile.Name(RemoteNetwork.address)))
        }
        defer { server.stop() }
        let (text, seconds) = try await upload(to: server.port, .http3)
        #expect(text == "-1001")
        #expect((Self.timeout..<Self.timeout * 3).contains(seconds))
        #expect((1...most).contains(server.received.reduce(0, +)))
    }
}

/// A test server.
private protocol Stoppable: Sendable {
    var port: Int { get }
    func stop()
}

extension ScriptedServer: Stoppable {}
extension GtlsServer: Stoppable {}
