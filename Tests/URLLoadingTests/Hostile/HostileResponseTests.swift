import Foundation
import TestSupport
import Testing
import URLLoading

/// HTTP/1.1 protocol violations of servers: each leads to one specific error, or to a tolerant result.
@Suite(.leavesNothing) struct HostileResponseTests {
    /// Sends the bytes for one request and closes the connection; returns the callbacks.
    private func callbacks(_ response: HostileResponse, _ arrival: HostileResponse.Arrival) async throws
        -> [RecordedEvent]
    {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            if arrival == .inOnePiece {
                try connection.send(response.bytes)
            } else {
                try connection.send(response.bytes, inPiecesOf: 1)
            }
            try connection.finishSending()
            try connection.waitForClose()
        }
        defer { server.stop() }
        let recorded = try await LoadRecorder.load(server.url())
        #expect(server.connectionCount == 1)
        if arrival == .inOnePiece { try await loadByHandler(response, of: server) }
        return recorded
    }

    /// T-48: a completion handler gets the same result, with the complete body or none, once.
    private func loadByHandler(_ response: HostileResponse, of server: ScriptedServer) async throws {
        let handled = EventRecorder<Call>()
        let session = URLSession { _ in }
        session.dataTask(with: server.url(), completionHandler: handled.handler).resume()
        try await handled.waitFor(count: 1)
        await session.flush()
        session.invalidateAndCancel()
        guard case .completed(let code)? = response.recorded.last else { throw URLError(.unknown) }
        let hasHead = response.recorded.contains { if case .response = $0 { true } else { false } }
        let expected: Call =
            code.map { .handled(nil, hasHead ? 200 : nil, URLError.Code(rawValue: $0)) }
            ?? .handled(String(decoding: response.recorded.body, as: UTF8.self), 200, nil)
        #expect(handled.events == [expected])
    }

    // ERR-5, ERR-6, CONN-27
    @Test("a response that ends too early", arguments: HostileResponse.truncated, HostileResponse.Arrival.allCases)
    func aResponseThatEndsTooEarly(
        response: HostileResponse, arrival: HostileResponse.Arrival
    ) async throws {
        #expect(try await callbacks(response, arrival) == response.recorded + [.invalid])
    }

    // ERR-7, CONN-25, CONN-26, CONN-28
    @Test("an invalid head", arguments: HostileResponse.garbledHeads, HostileResponse.Arrival.allCases)
    func anInvalidHead(response: HostileResponse, arrival: HostileResponse.Arrival) async throws {
        #expect(try await callbacks(response, arrival) == response.recorded + [.invalid])
    }

    // CONN-27
    @Test("lengths", arguments: HostileResponse.lengths, HostileResponse.Arrival.allCases)
    func lengths(response: HostileResponse, arrival: HostileResponse.Arrival) async throws {
        #expect(try await callbacks(response, arrival) == response.recorded + [.invalid])
    }

    // CONN-23, ERR-7
    @Test("chunks", arguments: HostileResponse.chunks, HostileResponse.Arrival.allCases)
    func chunks(response: HostileResponse, arrival: HostileResponse.Arrival) async throws {
        #expect(try await callbacks(response, arrival) == response.recorded + [.invalid])
    }

    // CONN-23, CONN-27, CONN-28
    @Test("oddities that do no harm", arguments: HostileResponse.tolerated, HostileResponse.Arrival.allCases)
    func odditiesThatDoNoHarm(response: HostileResponse, arrival: HostileResponse.Arrival) async throws {
        #expect(try await callbacks(response, arrival) == response.recorded + [.invalid])
    }

    // T-48, CONN-26
    @Test("a completion handler gets no response that is none") func aCompletionHandlerGetsNoNonsense() async throws {
        let server = try ScriptedServer(steps: [.expectRequest, .send("nonsense\r\n"), .waitForClose])
        defer { server.stop() }
        let results = EventRecorder<String>()
        try await URLSession.using { session async throws in
            session.dataTask(with: server.url()) { data, response, error in
                results.record("\(String(describing: data)) \(String(describing: response)) \(error?.code ?? 0)")
            }.resume()
            #expect(try await results.waitFor(count: 1) == ["nil nil -1017"])
        }
    }

    // T-48: the response came before the error
    @Test("a completion handler gets no half body") func aCompletionHandlerGetsNoHalfBody() async throws {
        let server = try ScriptedServer(
            steps: [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"), .close])
        defer { server.stop() }
        let results = EventRecorder<String>()
        try await URLSession.using { session async throws in
            session.dataTask(with: server.url()) { data, response, error in
                let status = (response as? HTTPURLResponse)?.statusCode ?? 0
                results.record("\(String(describing: data)) \(status) \(error?.code ?? 0)")
            }.resume()
            #expect(try await results.waitFor(count: 1) == ["nil 200 -1005"])
        }
    }
}

extension Error {
    fileprivate var code: Int { (self as NSError).code }
}
