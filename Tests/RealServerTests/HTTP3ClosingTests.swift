import Foundation
import TestSupport
import Testing
import URLLoading

/// An HTTP/3 server that closes its connections before a response.
@Suite(.needsHTTP3, .needs(.aioquic)) struct HTTP3ClosingTests {
    /// A TCP server for the same origin, which returns the request and advertises the QUIC port.
    private func server(naming quic: ClosingServer) throws -> ScriptedServer {
        let port = quic.port
        return try ScriptedServer.answering(tls: TrustedAuthority.server()) { request in
            var response = CannedResponse.text(request.method)
                .with(field: "Alt-Svc", "h3=\":\(port)\"; ma=60")
            response.keepsAlive = false
            return response
        }
    }

    private func request(_ url: URL, _ method: String) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        if method == "POST" { request.httpBody = Data("body".utf8) }
        return request
    }

    // CONN-6, CONN-8, CONN-10: what may be sent again goes over TCP, and what comes next does not try again
    @Test(
        "a connection that the server closes before it has answered is no end while there is TCP",
        arguments: ClosingServer.Moment.allCases.filter { $0 != .never }, ["GET", "POST"])
    func closed(moment: ClosingServer.Moment, method: String) async throws {
        let quic = try ClosingServer(at: moment, TrustedAuthority.authority)
        defer { quic.stop() }
        let tcp = try server(naming: quic)
        defer { tcp.stop() }
        let ends = EventRecorder<String>()
        try await TransactionRecorder.record { session, metrics async throws in
            _ = try await session.data(from: tcp.url("/"))
            session.dataTask(with: request(tcp.url("/"), method)) { data, _, error in
                let text = data.map { String(decoding: $0, as: UTF8.self) } ?? ""
                ends.record(error.map { "\(($0 as? URLError)?.code.rawValue ?? 0)" } ?? text)
            }.resume()
            let end = try await ends.waitFor(count: 1)[0]
            // A request that may have been processed is not repeated if it is a POST.
            if method == "POST", moment != .goAway {
                let wasRead = moment == .request || moment == .alert
                #expect(wasRead ? end == "-1005" : ["POST", "-1005"].contains(end))
            } else {
                #expect(end == method)
            }
            let (data, _) = try await session.data(from: tcp.url("/"))
            #expect(String(decoding: data, as: UTF8.self) == "GET")
            let transactions = try await metrics.transactions.waitUntil("the last") {
                $0.count >= 3 && $0.last?.responseEndDate != nil
            }
            #expect(transactions.last?.networkProtocolName == "http/1.1")
        }
        #expect(ends.count == 1)
        #expect(quic.events.filter { $0 == "handshake" }.count == 1)
        #expect(quic.events.filter { $0 == method }.count <= 1)
    }

    // CONN-6, CONN-8
    @Test("a server that takes one request over HTTP/3 and no more") func usesOneRequest() async throws {
        let quic = try ClosingServer(at: .never, TrustedAuthority.authority)
        defer { quic.stop() }
        let tcp = try server(naming: quic)
        defer { tcp.stop() }
        try await TransactionRecorder.record { session, _ async throws in
            for expected in ["GET", "h3", "GET", "GET"] {
                let (data, _) = try await session.data(from: tcp.url("/"))
                #expect(String(decoding: data, as: UTF8.self) == expected)
            }
        }
        #expect(quic.events == ["handshake", "GET"])
    }
}
