import Foundation
import TestSupport
import Testing
import URLLoading

/// Digest authentication against an independent server implementation (AUTH-18, RFC 7616).
@Suite(.leavesNothing) struct DigestLoadTests {
    private func session() -> (session: URLSession, delegate: RecordingDelegate) {
        let delegate = RecordingDelegate()
        delegate.challenge = { _, handler in
            handler(.useCredential, URLCredential("Mufasa", "Circle of Life"))
        }
        return (URLSession(delegate), delegate)
    }

    private func status(
        _ session: URLSession, _ url: URL, _ change: (inout URLRequest) -> Void = { _ in }
    ) async throws -> Int? {
        let (_, response) = try await session.data(for: URLRequest(url: url).with(change))
        return (response as? HTTPURLResponse)?.statusCode
    }

    private func challenges(_ delegate: RecordingDelegate) -> [Call] {
        delegate.calls.events.filter { if case .challenge = $0 { true } else { false } }
    }

    // AUTH-18, AUTH-26: all algorithms; then unasked with the next count
    @Test(
        "every algorithm",
        arguments: [nil, "MD5", "MD5-sess", "SHA-256", "SHA-256-sess", "SHA-512-256", "SHA-512-256-sess"],
        [nil, "auth", "auth-int", "auth,auth-int"])
    func everyAlgorithm(algorithm: String?, qop: String?) async throws {
        let digestAuth = DigestAuthResponder(DigestAuthResponder.Rules(algorithm: algorithm, qop: qop))
        let server = try ScriptedServer.answering { digestAuth.answer($0) }
        defer { server.stop() }
        let (session, delegate) = session()
        #expect(try await status(session, server.url("/a?b=c")) == 200)
        let post: (inout URLRequest) -> Void = {
            $0.httpMethod = "POST"
            $0.httpBody = Data("a body".utf8)
        }
        #expect(try await status(session, server.url("/d"), post) == 200)
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        let counts = qop == nil ? ["no nc", "no nc"] : ["00000001", "00000002"]
        #expect(digestAuth.verdicts.events == ["-", "/a?b=c \(counts[0]) n1", "/d \(counts[1]) n1"])
        #expect(challenges(delegate) == [.challenge(1, "HTTPDigest r", 0)])
        let said = server.requests.dropFirst().map { DigestAuthResponder.parameters($0["Authorization"] ?? "") }
        #expect(said.map { $0["qop"] } == Array(repeating: qop == "auth,auth-int" ? "auth" : qop, count: 2))
        #expect(said.map { $0["algorithm"] } == [algorithm, algorithm])
        if qop != nil {
            // 128 bits; never the same, but within a session of which they make the secret.
            #expect(said.map { $0["cnonce"]?.count } == [32, 32])
            #expect((said[0]["cnonce"] == said[1]["cnonce"]) == (algorithm?.hasSuffix("-sess") == true))
        }
        #expect(server.connectionCount == 1)
    }

    // AUTH-18, AUTH-26: it is hashed while the loop is lent, for the challenge and for the next request
    @Test("the integrity of a large body") func integrityOfALargeBody() async throws {
        let digestAuth = DigestAuthResponder(DigestAuthResponder.Rules(algorithm: "SHA-256", qop: "auth-int"))
        let server = try ScriptedServer.answering { digestAuth.answer($0) }
        defer { server.stop() }
        let (session, delegate) = session()
        for (path, byte) in [("/a", 1), ("/b", 2)] as [(String, UInt8)] {
            let status = try await status(session, server.url(path)) {
                $0.httpMethod = "POST"
                $0.httpBody = Data(repeating: byte, count: 1_000_000)
            }
            #expect(status == 200)
        }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(digestAuth.verdicts.events == ["-", "/a 00000001 n1", "/b 00000002 n1"])
    }

    // AUTH-18: stale is no refusal
    @Test("a stale nonce is renewed without a challenge") func aStaleNonceIsRenewedWithoutAChallenge() async throws {
        let digestAuth = DigestAuthResponder(DigestAuthResponder.Rules(uses: 2))
        let server = try ScriptedServer.answering { digestAuth.answer($0) }
        defer { server.stop() }
        let (session, delegate) = session()
        for path in ["/1", "/2", "/3", "/4"] { #expect(try await status(session, server.url(path)) == 200) }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(
            digestAuth.verdicts.events == [
                "-", "/1 00000001 n1", "/2 00000002 n1", "00000003 stale", "/3 00000001 n2", "/4 00000002 n2",
            ])
        #expect(challenges(delegate) == [.challenge(1, "HTTPDigest r", 0)])
        #expect(delegate.metrics.events.map { $0.transactionMetrics.count } == [2, 1, 2, 1])
        #expect(server.connectionCount == 1)
    }

    // AUTH-18, CONN-10: the server has seen the count, whether or not it has answered
    @Test("a request that is sent again has another count") func sentAgain() async throws {
        let digestAuth = DigestAuthResponder()
        let isFirst = Watched(true)
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                let response = digestAuth.answer(request)
                let isLost =
                    request.target == "/2"
                    && isFirst.withValue { first in
                        defer { first = false }
                        return first
                    }
                if isLost { return connection.close() }
                try connection.send(response, to: request)
            }
        }
        defer { server.stop() }
        let (session, delegate) = session()
        for path in ["/1", "/2", "/3"] { #expect(try await status(session, server.url(path)) == 200) }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(
            digestAuth.verdicts.events == [
                "-", "/1 00000001 n1", "/2 00000002 n1", "/2 00000003 n1", "/3 00000004 n1",
            ])
        #expect(challenges(delegate) == [.challenge(1, "HTTPDigest r", 0)])
    }

    // AUTH-18: another request has used the next count meanwhile
    @Test("a request that is sent again after another one") func sentAgainAfterAnother() async throws {
        let digestAuth = DigestAuthResponder()
        let isFirst = Watched(true)
        let arrived = Signal("/2"), mayBeLost = Signal("the loss of /2")
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                let response = digestAuth.answer(request)
                let isLost =
                    request.target == "/2"
                    && isFirst.withValue { first in
                        defer { first = false }
                        return first
                    }
                if isLost {
                    arrived.fire()
                    try mayBeLost.wait()
                    return connection.close()
                }
                try connection.send(response, to: request)
            }
        }
        defer { server.stop() }
        let (session, delegate) = session()
        #expect(try await status(session, server.url("/1")) == 200)
        async let lost = status(session, server.url("/2"))
        try await arrived.wait()
        #expect(try await status(session, server.url("/3")) == 200)
        mayBeLost.fire()
        #expect(try await lost == 200)
        #expect(try await status(session, server.url("/4")) == 200)
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(
            digestAuth.verdicts.events == [
                "-", "/1 00000001 n1", "/2 00000002 n1", "/3 00000003 n1", "/2 00000004 n1", "/4 00000005 n1",
            ])
    }

    // AUTH-18: a server that calls every nonce stale
    @Test("staleness has an end") func stalenessHasAnEnd() async throws {
        let digestAuth = DigestAuthResponder(DigestAuthResponder.Rules(uses: 0))
        let server = try ScriptedServer.answering { digestAuth.answer($0) }
        defer { server.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://Mufasa:x@127.0.0.1:\(server.port)/"))
        #expect(try await status(session, url) == 401)
        #expect(digestAuth.verdicts.events == ["-"] + Array(repeating: "00000001 stale", count: 4))
    }

    // AUTH-18
    @Test("the next nonce is used") func theNextNonceIsUsed() async throws {
        let digestAuth = DigestAuthResponder(DigestAuthResponder.Rules(announcesNonces: true))
        let server = try ScriptedServer.answering { digestAuth.answer($0) }
        defer { server.stop() }
        let (session, delegate) = session()
        for path in ["/1", "/2", "/3"] { #expect(try await status(session, server.url(path)) == 200) }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(digestAuth.verdicts.events == ["-", "/1 00000001 n1", "/2 00000001 n2", "/3 00000001 n3"])
    }

    // AUTH-18: a wrong rspauth means an impostor
    @Test("a wrong proof of the server's fails") func aWrongProofOfTheServersFails() async throws {
        let digestAuth = DigestAuthResponder(DigestAuthResponder.Rules(proof: { String($0.reversed()) }))
        let server = try ScriptedServer.answering { digestAuth.answer($0) }
        defer { server.stop() }
        let (session, delegate) = session()
        let task = session.dataTask(with: server.url())
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .challenge(1, "HTTPDigest r", 0), .metrics(1), .completed(1, .badServerResponse), .invalid,
            ])
    }

    // AUTH-18
    @Test("a hashed name") func aHashedName() async throws {
        let digestAuth = DigestAuthResponder(DigestAuthResponder.Rules(algorithm: "SHA-256", more: ", userhash=true"))
        let server = try ScriptedServer.answering { digestAuth.answer($0) }
        defer { server.stop() }
        let (session, delegate) = session()
        #expect(try await status(session, server.url()) == 200)
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(!server.requests.contains { $0.headText.contains("Mufasa") })
    }

    // AUTH-18, AUTH-26: the list says where else
    @Test("a domain list determines where credentials are sent preemptively")
    func aDomainListDeterminesWhereCredentialsAreSentPreemptively()
        async throws
    {
        let digestAuth = DigestAuthResponder(DigestAuthResponder.Rules(more: ", domain=\"/a /b\""))
        let server = try ScriptedServer.answering { digestAuth.answer($0) }
        defer { server.stop() }
        let (session, delegate) = session()
        for path in ["/a/1", "/b/2", "/c"] { #expect(try await status(session, server.url(path)) == 200) }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(
            server.requests.map { "\($0.path) \($0["Authorization"] != nil)" } == [
                "/a/1 false", "/a/1 true", "/b/2 true", "/c false", "/c true",
            ])
    }

    // AUTH-18: never the same count twice, however many at once
    @Test("many at once count on") func manyAtOnceCountOn() async throws {
        let digestAuth = DigestAuthResponder()
        let server = try ScriptedServer.answering { digestAuth.answer($0) }
        defer { server.stop() }
        let (session, delegate) = session()
        #expect(try await status(session, server.url("/0")) == 200)
        let url = server.url("/n")
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 0..<40 {
                group.addTask { (try await session.data(from: url).1 as? HTTPURLResponse)?.statusCode }
            }
            for try await status in group { #expect(status == 200) }
        }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        let counts = server.requests.compactMap {
            $0["Authorization"].map { DigestAuthResponder.parameters($0)["nc"] ?? "" }
        }
        #expect(counts.sorted() == (1...41).map { String(format: "%08x", $0) })
    }
}
