import Foundation
import TestSupport
import Testing
import URLLoading

/// nginx with OCSP stapling.
@Suite(.needs(.nginx)) struct NginxStaplingTests {
    // TLS-10
    @Test(
        "a stapled response",
        arguments: [(.good, nil), (.unknown, nil), (.revoked, .serverCertificateUntrusted)]
            as [(TestCertificateAuthority.RevocationStatus, URLError.Code?)], ["TLSv1.2", "TLSv1.3"])
    func aStapledResponse(
        expected: (status: TestCertificateAuthority.RevocationStatus, code: URLError.Code?), version: String
    ) async throws {
        var options = NginxServer.Options()
        options.offersHTTP2 = false
        options.stapledStatus = expected.status
        let server = try NginxServer(
            files: ["x": Array("x".utf8)], authority: try TrustedAuthority.authority, options: options)
        defer { server.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        let wanted: tls_protocol_version_t = version == "TLSv1.2" ? .TLSv12 : .TLSv13
        configuration.tlsMinimumSupportedProtocolVersion = wanted
        configuration.tlsMaximumSupportedProtocolVersion = wanted
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        // A session of TLS that was refused is not gone on with either.
        for _ in 0..<2 {
            do {
                let (data, _) = try await session.data(from: server.secureURL("/x"))
                #expect(expected.code == nil)
                #expect(String(decoding: data, as: UTF8.self) == "x")
            } catch let error as URLError {
                #expect(error.code == expected.code)
            }
        }
    }

    // AUTH-29, TLS-10: the response reaches the trust that a delegate is asked about
    @Test("a required OCSP response is stapled") func aRequiredOCSPResponseIsStapled() async throws {
        for isStapled in [true, false] {
            var options = NginxServer.Options()
            options.offersHTTP2 = false
            options.stapledStatus = isStapled ? .good : nil
            let server = try NginxServer(
                files: ["x": Array("x".utf8)], authority: try TrustedAuthority.authority, options: options)
            defer { server.stop() }
            let client = ResponseDemandingDelegate()
            let session = URLSession(configuration: .ephemeral, delegate: client, delegateQueue: nil)
            defer { session.invalidateAndCancel() }
            let code: URLError.Code?
            do {
                _ = try await session.data(from: server.secureURL("/x"))
                code = nil
            } catch let error as URLError {
                code = error.code
            }
            #expect(client.trusted.events == [isStapled])
            #expect(code == (isStapled ? nil : .cancelled))
        }
    }
}
