import LoadingProtocols
import LoadingSemantics
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
}
