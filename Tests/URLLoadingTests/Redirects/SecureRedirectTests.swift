import Foundation
import TestSupport
import Testing
import URLLoading

/// Redirects between http and https.
@Suite(.leavesNothing) struct SecureRedirectTests {
    /// A cleartext and a TLS server, each of which redirects `/start` to the other's `/end`.
    private struct Pair {
        let clear: ScriptedServer
        let secure: ScriptedServer

        init() throws {
            let targets = Watched<[String: String]>([:])
            let answer: @Sendable (ReceivedRequest) -> CannedResponse = { request in
                guard request.path == "/start" else { return .text(request.summary) }
                let status = Int(request["X-Status"] ?? "") ?? 302
                return .redirect(to: targets.current[request["Host"] ?? ""] ?? "", status: status)
            }
            clear = try ScriptedServer.answering { answer($0) }
            secure = try ScriptedServer.answering(tls: try TrustedAuthority.server()) { answer($0) }
            targets.withValue { [clear, secure] in
                $0["127.0.0.1:\(clear.port)"] = secure.url("/end").absoluteString
                $0["127.0.0.1:\(secure.port)"] = clear.url("/end").absoluteString
            }
        }

        func stop() {
            clear.stop()
            secure.stop()
        }
    }

    // S-58: what was for the one is not for the other
    @Test("to https and back", arguments: [true, false], [302, 307])
    func toHttpsAndBack(up: Bool, status: Int) async throws {
        let pair = try Pair()
        defer { pair.stop() }
        let (first, second) = up ? (pair.clear, pair.secure) : (pair.secure, pair.clear)
        let request = URLRequest(url: first.url("/start")).with {
            $0.httpMethod = "POST"
            $0.httpBody = Data("abc".utf8)
            $0.setValue("\(status)", forHTTPHeaderField: "X-Status")
            $0.setValue("Basic x", forHTTPHeaderField: "Authorization")
            $0.setValue("a=b", forHTTPHeaderField: "Cookie")
            $0.setValue("http://app.example/", forHTTPHeaderField: "Referer")
            $0.setValue("http://app.example", forHTTPHeaderField: "Origin")
        }
        let summary = status == 302 ? "GET /end " : "POST /end abc"
        #expect(
            try await LoadRecorder.load(request)
                == [.response(200), .data(summary), .succeeded, .invalid])
        let (before, after) = (try #require(first.requests.first), try #require(second.requests.first))
        #expect(before["Authorization"] == "Basic x")
        #expect(before["Accept-Encoding"] == (up ? "gzip, deflate" : "gzip, deflate, br"))
        #expect(after["Accept-Encoding"] == (up ? "gzip, deflate, br" : "gzip, deflate"))
        let secrets = ["Authorization", "Cookie", "Origin"]
        #expect(secrets.allSatisfy { after[$0] == nil })
        #expect(after["Referer"] == (up ? "http://app.example/" : nil))
        #expect(first.connectionCount == 1)
        #expect(second.connectionCount == 1)
    }

    // TLS-5, T-38: the server it leads to has to be the right one, too
    @Test("to a server that is not to be trusted") func toAServerThatIsNotToBeTrusted() async throws {
        _ = try TrustedAuthority.authority
        let otherServer = try ScriptedServer.answering(tls: TLSServerOptions(authority: TestCertificateAuthority())) {
            _ in
            .text("never")
        }
        defer { otherServer.stop() }
        let server = try ScriptedServer.answering(.redirect(to: otherServer.url("/end").absoluteString, status: 307))
        defer { server.stop() }
        let request = URLRequest(url: server.url()).with {
            $0.httpMethod = "POST"
            $0.httpBody = Data("secret".utf8)
        }
        #expect(try await LoadRecorder.load(request) == [.failed(.serverCertificateHasUnknownRoot), .invalid])
        #expect(otherServer.requests.isEmpty)
    }
}
