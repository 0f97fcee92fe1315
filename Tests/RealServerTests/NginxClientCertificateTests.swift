import Foundation
import TestSupport
import Testing
import URLLoading

/// nginx with client certificates.
@Suite(.needs(.nginx)) struct NginxClientCertificateTests {
    /// Presents a client certificate, if given.
    private final class Client: NSObject, URLSessionDelegate, Sendable {
        let credential: URLCredential?
        let asked = EventRecorder<String>()

        init(_ credential: URLCredential?) { self.credential = credential }

        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            let method = challenge.protectionSpace.authenticationMethod
            asked.record(method)
            guard method == NSURLAuthenticationMethodClientCertificate else { return (.performDefaultHandling, nil) }
            return (.useCredential, credential)
        }
    }

    private func credential(_ identity: TestIdentity) throws -> URLCredential {
        var items: CFArray?
        let archive = Data(try identity.pkcs12(password: "secret")) as CFData
        _ = SecPKCS12Import(archive, [kSecImportExportPassphrase as String: "secret"] as CFDictionary, &items)
        let item = try #require((items as? [[String: Any]])?.first)
        let known = try #require(item[kSecImportItemIdentity as String] as? SecIdentity)
        return URLCredential(identity: known, certificates: nil, persistence: .none)
    }

    // AUTH-31, S-54, TLS-5: with the right certificate, an unknown one, and none. nginx itself answers 400 to the last
    // two.
    @Test("a client certificate", arguments: ["TLSv1.2", "TLSv1.3"]) func aClientCertificate(version: String)
        async throws
    {
        let clients = try TestCertificateAuthority(.authority("Clients"))
        let folder = try TemporaryDirectory()
        let root = try folder.write(clients.root.pem, to: "clients.pem")
        var options = NginxServer.Options()
        options.offersHTTP2 = false
        options.directives = """
            ssl_client_certificate \(root.path);
            ssl_verify_client on;
            location = /who { return 200 "$ssl_client_s_dn over $ssl_protocol"; }
            """
        let server = try NginxServer(authority: try TrustedAuthority.authority, options: options)
        defer { server.stop() }
        let asked = [NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate]
        for (identity, status) in [
            (try clients.issue(.client("somebody")), 200), (try TestIdentity.selfSigned(.client("unknown")), 400),
            (nil, 400),
        ] as [(TestIdentity?, Int)] {
            let client = Client(try identity.map { try credential($0) })
            let configuration = URLSessionConfiguration.ephemeral
            let wanted: tls_protocol_version_t = version == "TLSv1.2" ? .TLSv12 : .TLSv13
            configuration.tlsMinimumSupportedProtocolVersion = wanted
            configuration.tlsMaximumSupportedProtocolVersion = wanted
            let session = URLSession(configuration: configuration, delegate: client, delegateQueue: nil)
            defer { session.invalidateAndCancel() }
            for _ in 0..<2 {
                let (data, response) = try await session.data(from: server.secureURL("/who"))
                #expect((response as? HTTPURLResponse)?.statusCode == status)
                if status == 200 {
                    #expect(String(decoding: data, as: UTF8.self) == "CN=somebody over \(version)")
                }
            }
            // The first connection is used again, unless nginx closed it behind its 400.
            #expect(client.asked.events == (status == 200 ? asked : asked + asked))
        }
    }
}
