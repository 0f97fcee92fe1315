import Foundation
import TestSupport
import Testing
import URLLoading

/// Name resolution with a test DNS server. Each test has its own process and network.
@Suite(.inNetworkNamespace, .needsNetworkNamespace, .needsNameServer, .timeLimit(.minutes(1)))
struct NameResolutionTests {
    private static let home: NameServer.Answer = .address([127, 0, 0, 1])
    private static let home6: NameServer.Answer = .address([UInt8](repeating: 0, count: 15) + [1])

    /// Runs `body` with these DNS answers.
    private func withNames(
        _ answer: @escaping @Sendable (NameServer.Question) -> NameServer.Answer,
        _ body: (NameServer) async throws -> Void
    ) async throws {
        try NetworkNamespace.raiseLoopback()
        let names = try NameServer(answering: answer)
        defer { names.stop() }
        // What the test asked before, with another argument.
        await URLSession.shared.flush()
        try await body(names)
    }

    private func callbacks(_ url: String) async throws -> [RecordedEvent] {
        try await LoadRecorder.load(URLRequest(url: try #require(URL(string: url)), timeoutInterval: 20))
    }

    // CONN-21, MISC-1: its ASCII form is looked up, and sent to the server
    @Test(
        "an international name",
        arguments: [
            "b\u{FC}cher.example", "B\u{DC}CHER.Example", "b%C3%BCcher.example", "xn--bcher-kva.example",
            "b\u{FC}cher\u{3002}example",
        ])
    func anInternationalName(name: String) async throws {
        try await withNames({ $0.name == "xn--bcher-kva.example" && $0.type == .ipv4 ? Self.home : .noSuchName }) {
            names in
            let server = try ScriptedServer.answering { .text($0["Host"] ?? "") }
            defer { server.stop() }
            let recorded = try await callbacks("http://\(name):\(server.port)/")
            let host = "xn--bcher-kva.example:\(server.port)"
            #expect(recorded == [.response(200), .data(host), .succeeded, .invalid])
            #expect(Set(names.questions.map(\.name)) == ["xn--bcher-kva.example"])
        }
    }

    // CONN-21, TLS-4, TLS-11: and so it stands in the hello and in the certificate
    @Test("an international name over TLS") func anInternationalNameOverTLS() async throws {
        try await withNames({ $0.type == .ipv4 ? Self.home : .nothing }) { _ in
            let options = try TrustedAuthority.server(.server("xn--bcher-kva.example"))
            let server = try ScriptedServer.answering(tls: options) { _ in .text("ok") }
            defer { server.stop() }
            let recorded = try await callbacks("https://b\u{FC}cher.example:\(server.port)/")
            #expect(recorded == [.response(200), .data("ok"), .succeeded, .invalid])
            #expect(server.connections.first?.handshake?.serverName == "xn--bcher-kva.example")
            let other = try await callbacks("https://andere.example:\(server.port)/")
            #expect(other == [.failed(.serverCertificateUntrusted), .invalid])
        }
    }

    // ERR-5, MET-4: an unknown name, and one without an address
    @Test("a name without an address", arguments: [false, true]) func aNameWithoutAnAddress(exists: Bool)
        async throws
    {
        try await withNames({ _ in exists ? .nothing : .noSuchName }) { names in
            let delegate = RecordingDelegate()
            let session = URLSession(delegate)
            let url = try #require(URL(string: "http://nobody.example/"))
            let task = session.dataTask(with: url)
            task.resume()
            session.finishTasksAndInvalidate()
            let calls = try await delegate.calls.wait(for: .invalid)
            #expect(calls == [.created(1), .metrics(1), .completed(1, .cannotFindHost), .invalid])
            let error = try #require(task.error as? URLError)
            let text = "A server with the specified hostname could not be found."
            #expect(error.localizedDescription == text)
            #expect((error.userInfo[NSUnderlyingErrorKey] as? NSError)?.domain == "URLLoadingDNSErrorDomain")
            let transaction = try #require(delegate.metrics.events.first?.transactionMetrics.first)
            #expect(transaction.domainLookupStartDate != nil)
            #expect(transaction.domainLookupEndDate != nil)
            #expect(transaction.connectStartDate == nil)
            #expect(Set(names.questions.map(\.type)) == [.ipv4, .ipv6])
        }
    }

    // CONN-15, MET-4: to ask for a name is to wait for the network
    @Test("a silent name server") func aSilentNameServer() async throws {
        try await withNames({ _ in .silence }) { _ in
            let delegate = RecordingDelegate()
            let session = URLSession(delegate)
            let url = try #require(URL(string: "http://slow.example/"))
            session.dataTask(with: URLRequest(url: url, timeoutInterval: 0.3)).resume()
            session.finishTasksAndInvalidate()
            let calls = try await delegate.calls.wait(for: .invalid)
            #expect(calls == [.created(1), .metrics(1), .completed(1, .timedOut), .invalid])
            let transaction = try #require(delegate.metrics.events.first?.transactionMetrics.first)
            #expect(transaction.domainLookupStartDate != nil)
            #expect(transaction.domainLookupEndDate == nil)
            #expect(transaction.connectStartDate == nil)
        }
    }

    // T-5, S-83: without waiting for the answer
    @Test("cancelled while a name is asked for") func cancelledWhileANameIsAskedFor() async throws {
        let asked = Signal("the question")
        let answer = { @Sendable (_: NameServer.Question) -> NameServer.Answer in
            asked.fire()
            return .silence
        }
        try await withNames(answer) { _ in
            let delegate = RecordingDelegate()
            let session = URLSession(delegate)
            let url = try #require(URL(string: "http://slow.example/"))
            session.dataTask(with: url).resume()
            try await asked.wait()
            session.invalidateAndCancel()
            let calls = try await delegate.calls.wait(for: .invalid, within: .seconds(2))
            #expect(calls == [.created(1), .metrics(1), .completed(1, .cancelled), .invalid])
        }
    }

    // CONN-9: one family's silence does not hold up the other
    @Test("an answer for one family alone") func anAnswerForOneFamilyAlone() async throws {
        try await withNames({ $0.type == .ipv4 ? Self.home : .silence }) { _ in
            let server = try ScriptedServer.answering(.text("ok"))
            defer { server.stop() }
            let begin = ContinuousClock.now
            let recorded = try await callbacks("http://half.example:\(server.port)/")
            #expect(recorded == [.response(200), .data("ok"), .succeeded, .invalid])
            // The resolver itself would go on asking for five seconds.
            #expect(ContinuousClock.now - begin < .seconds(2))
        }
    }

    // CONN-9: an unreachable address is not final
    @Test("two addresses and one that answers") func twoAddressesAndOneThatAnswers() async throws {
        try await withNames({ $0.type == .ipv4 ? Self.home : Self.home6 }) { _ in
            let server = try ScriptedServer.answering(.text("ok"))
            defer { server.stop() }
            let recorded = try await callbacks("http://both.example:\(server.port)/")
            #expect(recorded == [.response(200), .data("ok"), .succeeded, .invalid])
            let refusing = try RefusingPort(on: [.ipv4, .ipv6])
            let refused = try await callbacks("http://both.example:\(refusing.port)/")
            #expect(refused == [.failed(.cannotConnectToHost), .invalid])
        }
    }

    // CONN-18, MISC-27: a name is asked for once, by whatever letters; after a flush again
    @Test("an answer is remembered until a flush") func anAnswerIsRememberedUntilAFlush() async throws {
        try await withNames({ $0.type == .ipv4 ? Self.home : .nothing }) { names in
            let server = try ScriptedServer.answering(CannedResponse.text("ok").closing())
            defer { server.stop() }
            let session = URLSession { _ in }
            func load(_ host: String) async throws {
                let handled = EventRecorder<Call>()
                let url = try #require(URL(string: "http://\(host):\(server.port)/"))
                session.dataTask(with: url, completionHandler: handled.handler).resume()
                #expect(try await handled.waitFor(count: 1) == [.handled("ok", 200, nil)])
            }
            try await load("name.example")
            try await load("NAME.example")
            let asked = names.questions.filter { $0.type == .ipv4 }
            #expect(Set(asked).count == asked.count)
            #expect(Set(names.questions) == [.init("name.example", .ipv4), .init("name.example", .ipv6)])
            await session.flush()
            try await load("name.example")
            #expect(names.questions.filter { $0.type == .ipv4 } == asked + asked)
            #expect(server.connectionCount == 3)
            session.invalidateAndCancel()
        }
    }
}
