import Foundation
import TestSupport
import Testing
import URLLoading

/// Stapled OCSP responses over QUIC.
@Suite("HTTP/3, stapled responses", .needsHTTP3, .needs(.aioquic)) struct HTTP3StaplingTests {
    private func load(_ session: URLSession, _ server: StaplingServer) async throws -> String {
        var request = URLRequest(url: try #require(URL(string: "https://127.0.0.1:\(server.port)/")))
        request.assumesHTTP3Capable = true
        request.timeoutInterval = 20
        return String(decoding: try await session.data(for: request).0, as: UTF8.self)
    }

    // TLS-5, TLS-10: nothing answers over TCP, and that is not the reason
    @Test("a stapled response", arguments: [.good, .unknown, .revoked] as [TestCertificateAuthority.RevocationStatus])
    func stapledResponse(status: TestCertificateAuthority.RevocationStatus) async throws {
        let server = try StaplingServer(TrustedAuthority.authority, status: status)
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        if status == .revoked {
            let error = await #expect(throws: URLError.self) { try await load(session, server) }
            #expect(error?.code == .serverCertificateUntrusted)
            #expect(error?.failureURLPeerTrust != nil)
        } else {
            #expect(try await load(session, server) == "h3")
        }
    }

    // AUTH-29, TLS-8, TLS-10: a resumed handshake brings no response, so that of the first one counts
    @Test("a required response, also in a resumed session") func requiredResponse() async throws {
        let server = try StaplingServer(TrustedAuthority.authority, status: .good)
        defer { server.stop() }
        let client = ResponseDemandingDelegate()
        let session = URLSession(configuration: .ephemeral, delegate: client, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        #expect(try await load(session, server) == "h3")
        try await eventually { server.events.last == "closed" }
        #expect(try await load(session, server) == "h3")
        #expect(client.trusted.events == [true, true])
        #expect(server.events.prefix(3) == ["new", "closed", "resumed"])
    }
}
