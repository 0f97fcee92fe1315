internal import CTestTLS

/// TLS server state that is shared by connections, so that sessions can be resumed.
///
/// `@unchecked Sendable`: the pointer is only read after `init`, and OpenSSL locks the shared state.
package final class TLSServer: @unchecked Sendable {
    private let server: OpaquePointer

    package init(_ options: TLSServerOptions) throws {
        let certificate = options.identity.certificate.der
        let key = options.identity.privateKey.der
        guard let server = ctt_server_create(certificate, certificate.count, key, key.count) else {
            throw OpenSSLError("make a TLS server")
        }
        self.server = server
        try set("versions") {
            ctt_server_set_versions($0, Int32(options.minimumVersion.rawValue), Int32(options.maximumVersion.rawValue))
        }
        if !options.showsCertificate {
            try set("anonymity") { ctt_server_withhold_certificate($0) }
        }
        for certificate in options.sentChain ?? options.identity.intermediates {
            try set("chain") { ctt_server_add_chain($0, certificate.der, certificate.der.count) }
        }
        if let ciphers = options.ciphers {
            try set("ciphers") { ctt_server_set_ciphers($0, ciphers) }
        }
        if !options.applicationProtocols.isEmpty {
            let list = options.applicationProtocols.flatMap { [UInt8(clamping: $0.utf8.count)] + Array($0.utf8) }
            try set("application protocols") {
                ctt_server_set_protocols($0, list, list.count, options.requiresApplicationProtocol ? 1 : 0)
            }
        }
        switch options.clientCertificate {
        case .ignored: break
        case .asked(let authorities): try ask(CTT_CLIENT_CERTIFICATE_ASKED, trusting: authorities)
        case .required(let authorities): try ask(CTT_CLIENT_CERTIFICATE_REQUIRED, trusting: authorities)
        }
        try set("tickets") { ctt_server_set_tickets($0, UInt32(clamping: options.sessionTickets)) }
        if let response = options.ocspResponse {
            try set("OCSP response") { ctt_server_set_ocsp_response($0, response, response.count) }
        }
    }

    deinit {
        ctt_server_free(server)
    }

    private func set(_ what: String, _ body: (OpaquePointer) -> Int32) throws {
        guard body(server) == 1 else { throw OpenSSLError("set the server's \(what)") }
    }

    private func ask<Policy: BinaryInteger>(_ policy: Policy, trusting authorities: [TestCertificate]) throws {
        try set("client certificate policy") {
            ctt_server_set_client_certificate($0, Int32(policy), authorities.isEmpty ? 1 : 0)
        }
        for authority in authorities {
            try set("client authority") { ctt_server_add_client_authority($0, authority.der, authority.der.count) }
        }
    }

    func makeSession() throws -> TLSSession {
        guard let session = ctt_session_create(server) else { throw OpenSSLError("make a TLS session") }
        return TLSSession(session, of: self)
    }
}
