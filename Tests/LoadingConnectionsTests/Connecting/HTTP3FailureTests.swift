import Glibc
import LoadingProtocols
import LoadingSemantics
import LoadingTransport
import Testing

@testable import LoadingConnections

/// Errors of loads whose QUIC connection has ended.
@Suite struct HTTP3FailureTests {
    // ERR-3, MISC-28: it may repeat what the request had
    @Test(
        "what a server says when it closes a connection is not in the error",
        arguments: [(true, "HTTP/3"), (false, "QUIC")])
    func reasonOfTheServer(isApplication: Bool, layer: String) {
        let error = LoadError(.closedByPeer(code: 258, isApplication: isApplication, reason: "no session=very-secret"))
        #expect(error == LoadError(code: -1005, cause: .http("HTTP/3: closed by the server, \(layer) error 258")))
    }

    // ERR-3, MISC-28, TLS-5: and neither if the server has requested a certificate
    @Test(
        "what a server says with a TLS alert is not in the error",
        arguments: [(nil, nil), (false, -1206), (true, -1205)] as [(Bool?, Int?)])
    func alertOfTheServer(isProvided: Bool?, code: Int?) {
        let state: ClientCertificateState =
            switch isProvided {
            case nil: .notRequested
            case false?: .notProvided
            case true?: .provided
            }
        let said = HTTP3Error.closedByPeer(code: 0x100 + 42, isApplication: false, reason: "no session=very-secret")
        let expected =
            code.map {
                LoadError(code: $0, cause: .tls(code: 0, text: "HTTP/3: closed by the server, TLS alert 42"))
            } ?? LoadError(code: -1005, cause: .http("HTTP/3: closed by the server, QUIC error 298"))
        #expect(LoadError(said, clientCertificate: state) == expected)
        // An error code of HTTP/3 is no alert.
        let lost = HTTP3Error.closedByPeer(code: 0x100, isApplication: true, reason: "very-secret")
        #expect(LoadError(lost, clientCertificate: state) == LoadError(lost))
        #expect(LoadError(.unusableIdentity, clientCertificate: state).code == -1205)
    }

    // CONN-10: a request on a new connection that ends this way may go over TCP, whatever its method
    @Test(
        "codes that say that no request was read",
        arguments: [
            (0x02, false, true), (0x100, false, true), (0x12A, false, true), (0x01, false, false),
            (0x200, false, false), (0x02, true, false), (0x100, true, false),
        ] as [(UInt64, Bool, Bool)])
    func refusedConnection(code: UInt64, isApplication: Bool, isRefusal: Bool) {
        #expect(
            HTTP3Error.closedByPeer(code: code, isApplication: isApplication, reason: "").isOfHandshake == isRefusal)
    }

    // CONN-8, CONN-14: only the server can refuse. Over TCP the load waits for a descriptor
    @Test("certificates that could not be evaluated are no refusal", arguments: [(EMFILE, false), (ENOENT, true)])
    func evaluationThatCouldNotBeMade(code: Int32, isRefusal: Bool) {
        let error = LoadError(TLSError(code: TLSError.secureConnectionFailed, reason: "", posix: code))
        #expect(HTTP3Connector.Failure(trust: error).isRefusal == isRefusal)
    }
}
