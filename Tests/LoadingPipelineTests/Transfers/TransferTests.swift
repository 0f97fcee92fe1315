import Foundation
import LoadingEvents
import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingPipeline

/// Transfers without a session: the engine with another client than a task.
@Suite struct TransferTests {
    // BG-18, BG-25
    @Test("a GET to a file; the reports are numbered, and the metrics come before the end") func get() async throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let runs = try TransferRuns()
        defer { runs.end() }
        let run = runs.begin(runs.request(server.url()))
        #expect(try await run.outcome() == ["response 200 5 0", "progress 0/-1 5/5", "metrics", "finished"])
        #expect(run.reports.events.map(\.number) == [1, 2, 3, 4])
        #expect(run.text == "hello")
        let metrics = run.reports.events.compactMap { report -> TransferMetrics? in
            if case .metrics(let metrics) = report.event { metrics } else { nil }
        }
        #expect(metrics.first?.events.first?.kind == .fetchStarted(.first))
        #expect(metrics.first?.events.last?.kind == .ended)
    }

    // BG-2
    @Test("the upload of a file") func upload() async throws {
        let server = try ScriptedServer.answering(.text("thanks"))
        defer { server.stop() }
        let runs = try TransferRuns()
        defer { runs.end() }
        var request = runs.request(server.url())
        request.method = "POST"
        request.bodyFile = try runs.folder.write("content", to: "body").path
        let result = try await runs.run(request)
        #expect(
            result.outcome == [
                "progress 7/7 0/-1", "response 200 6 0", "progress 7/7 6/6", "metrics", "finished",
            ])
        #expect(result.text == "thanks")
        #expect(server.requests.map(\.bodyText) == ["content"])
    }

    // BG-4
    @Test("a redirect is followed, and reported") func redirect() async throws {
        let server = try ScriptedServer.answering { request in
            request.target == "/a" ? .redirect(to: "/b") : .text("there")
        }
        defer { server.stop() }
        let runs = try TransferRuns()
        defer { runs.end() }
        let result = try await runs.run(runs.request(server.url("/a")))
        #expect(
            result.outcome == [
                "redirected 302 /b", "response 200 5 0", "progress 0/-1 5/5", "metrics", "finished",
            ])
        #expect(result.text == "there")
    }

    // BG-4, R-3, R-5, R-9: each redirect adds to what the ones before have changed
    @Test("what redirects change is reported") func changesOfRedirects() async throws {
        let server = try ScriptedServer.answering { request in
            switch request.target {
            case "/a": .redirect(to: "/b", status: 307)
            case "/b": .redirect(to: "/c", status: 303)
            default: .text("there")
            }
        }
        defer { server.stop() }
        let runs = try TransferRuns()
        defer { runs.end() }
        var request = runs.request(server.url("/a"))
        request.method = "PUT"
        request.fields = [
            TransferField("Authorization", "a"), TransferField("Content-Type", "b"), TransferField("X-Own", "c"),
        ]
        request.bodyFile = try runs.folder.write("content", to: "body").path
        let run = runs.begin(request)
        _ = try await run.outcome()
        let changes = run.reports.events.compactMap { report -> RedirectChanges? in
            switch report.event {
            case .redirected(let head, _), .response(let head, _, _): head.redirects
            default: nil
            }
        }
        #expect(changes.map(\.url) == ["/b", "/c", "/c"].map { server.url($0).absoluteString })
        #expect(changes.map(\.method) == ["PUT", "GET", "GET"])
        #expect(changes.map(\.hasBody) == [true, false, false])
        #expect(changes.first?.droppedFields == ["Authorization"])
        #expect(changes.dropFirst().allSatisfy { $0.droppedFields == ["Authorization", "Content-Type"] })
    }

    // BG-4, TLS-7: what the program shows is what was sent
    @Test("a redirect to a host that is loaded securely") func upgradedRedirect() async throws {
        let target = try ScriptedServer.answering(
            .text("there"), tls: TLSServerOptions(TestIdentity.selfSigned(.localhost)))
        defer { target.stop() }
        let server = try ScriptedServer.answering { _ in .redirect(to: "http://localhost:\(target.port)/b") }
        defer { server.stop() }
        let runs = try TransferRuns()
        defer { runs.end() }
        runs.hosts.note(
            HTTPFields([("Strict-Transport-Security", "max-age=1000")]), from: try HTTPURL("https://localhost/"),
            isTrusted: true)
        var request = runs.request(server.url("/a", host: "127.0.0.1"))
        request.asksServerTrust = true
        let run = runs.begin(request)
        let reports = try await run.reports.waitUntil("the challenge") {
            if case .challenge? = $0.last?.event { true } else { false }
        }
        guard case .challenge(let challenge)? = reports.last?.event else { return }
        runs.loop.post {
            run.transfer?.answer(TransferAnswer(to: challenge.identifier, decision: .trust(isEvaluated: true)))
        }
        _ = try await run.outcome()
        let heads = run.reports.events.compactMap { report -> TransferHead? in
            if case .response(let head, _, _) = report.event { head } else { nil }
        }
        #expect(heads.map(\.url) == [target.url("/b", host: "localhost").absoluteString])
        #expect(heads.map(\.redirects?.url) == heads.map(\.url))
    }

    // BG-9
    @Test("an error status is a result") func status() async throws {
        let server = try ScriptedServer.answering(.text("broken", status: 500))
        defer { server.stop() }
        let runs = try TransferRuns()
        defer { runs.end() }
        let result = try await runs.run(runs.request(server.url()))
        #expect(result.outcome == ["response 500 6 0", "progress 0/-1 6/6", "metrics", "finished"])
        #expect(server.requests.count == 1)
    }

    // BG-1
    @Test("a URL of another scheme is an error") func scheme() async throws {
        let runs = try TransferRuns()
        defer { runs.end() }
        let request = TransferRequest(url: "ftp://example.com/", folder: runs.folder.path)
        #expect(try await runs.run(request).outcome == ["metrics", "failed -1002"])
    }

    private static func guarded() throws -> ScriptedServer {
        try ScriptedServer.answering { request in
            request["Authorization"] == "Basic dXNlcjpwYXNz"
                ? .text("in")
                : .text("out", status: 401).with(field: "WWW-Authenticate", "Basic realm=\"room\"")
        }
    }

    private func space(of server: ScriptedServer) throws -> ProtectionSpace {
        let url = try HTTPURL(server.url().absoluteString)
        return ProtectionSpace(kind: .server(.http), host: url.host, port: url.port, realm: "room", scheme: .basic)
    }

    // BG-24, AUTH-7
    @Test("a challenge that the credential store answers") func stored() async throws {
        let server = try Self.guarded()
        defer { server.stop() }
        let runs = try TransferRuns()
        defer { runs.end() }
        let space = try space(of: server)
        runs.loop.post {
            runs.credentials[space] = LoadCredential(user: "user", password: "pass", isKept: true)
        }
        let result = try await runs.run(runs.request(server.url()))
        #expect(result.outcome == ["response 200 2 0", "progress 0/-1 2/2", "metrics", "finished"])
        #expect(server.requests.count == 2)
    }

    // BG-11, AUTH-22, AUTH-26: an answer to another challenge is dropped
    @Test("a challenge that the program answers; the accepted credential is stored") func asked() async throws {
        let server = try Self.guarded()
        defer { server.stop() }
        let runs = try TransferRuns()
        defer { runs.end() }
        let run = runs.begin(runs.request(server.url()))
        guard case .challenge(let challenge)? = try await run.reports.waitFor(count: 1).last?.event else {
            Issue.record("another report")
            return
        }
        let number = challenge.identifier
        runs.loop.post {
            run.transfer?.answer(TransferAnswer(to: number &+ 1, decision: .cancel))
            run.transfer?.answer(
                TransferAnswer(to: number, decision: .credential(user: "user", password: "pass", isKept: true)))
            // The answer to a question that has been answered.
            run.transfer?.answer(TransferAnswer(to: number, decision: .cancel))
        }
        #expect(
            try await run.outcome() == [
                "challenge room 0", "response 200 2 0", "progress 0/-1 2/2", "metrics", "finished",
            ])
        // From now on it is sent without a challenge.
        let again = try await runs.run(runs.request(server.url("/again")))
        #expect(again.outcome == ["response 200 2 0", "progress 0/-1 2/2", "metrics", "finished"])
        #expect(server.requests.map { $0["Authorization"] != nil } == [false, true, true])
    }

    // BG-24
    @Test("cookies of one transfer are sent with the next") func cookies() async throws {
        let server = try ScriptedServer.answering(.text("x").with(field: "Set-Cookie", "a=1"))
        defer { server.stop() }
        let runs = try TransferRuns()
        defer { runs.end() }
        _ = try await runs.run(runs.request(server.url()))
        _ = try await runs.run(runs.request(server.url()))
        var request = runs.request(server.url())
        request.usesCookies = false
        _ = try await runs.run(request)
        #expect(server.requests.map { $0["Cookie"] } == [nil, "a=1", nil])
    }

    // CACHE-8
    @Test("a cached response is the result, without a request") func cached() async throws {
        let server = try ScriptedServer.answering(.text("new"))
        defer { server.stop() }
        let runs = try TransferRuns()
        defer { runs.end() }
        let url = server.url("/cached")
        let key = try #require(CacheKey(url: try HTTPURL(url.absoluteString)))
        let fields = HTTPFields([("Cache-Control", "max-age=60"), ("Content-Type", "text/plain")])
        let entry = CacheEntry(response: StoredResponse(status: 200, fields: fields), body: Data("stored".utf8))
        runs.loop.post { runs.responses[key] = entry }
        var request = runs.request(url)
        request.cachePolicy = CachePolicy.returnCacheDataElseLoad.rawValue
        let result = try await runs.run(request)
        #expect(result.outcome == ["response 200 6 0", "progress 0/-1 6/6", "metrics", "finished"])
        #expect(result.text == "stored")
        #expect(server.requests.count == 0)
    }

    // CACHE-2
    @Test("a body that goes to a file is not stored") func notStored() async throws {
        let server = try ScriptedServer.answering(.text("new").with(field: "Cache-Control", "max-age=60"))
        defer { server.stop() }
        let runs = try TransferRuns()
        defer { runs.end() }
        _ = try await runs.run(runs.request(server.url()))
        _ = try await runs.run(runs.request(server.url()))
        #expect(server.requests.count == 2)
    }

    // BG-8, RES-3, RES-12
    @Test("a transfer that is cancelled, and another that goes on by Range") func resume() async throws {
        let server = try ScriptedServer { connection in
            let request = try connection.readRequest()
            if request["Range"] == "bytes=5-", request["If-Range"] == "\"v1\"" {
                try connection.send(
                    "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 5-9/10\r\nContent-Length: 5\r\n"
                        + "ETag: \"v1\"\r\n\r\n56789")
            } else {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"v1\"\r\n\r\n01234")
            }
            _ = try connection.waitForClose()
        }
        defer { server.stop() }
        let runs = try TransferRuns()
        defer { runs.end() }
        let run = runs.begin(runs.request(server.url()))
        _ = try await run.reports.waitUntil { $0.last?.event.short == "progress 0/-1 5/10" }
        runs.loop.post { run.transfer?.cancel() }
        #expect(
            try await run.outcome() == [
                "response 200 10 0", "progress 0/-1 5/10", "metrics", "failed -999 resumable",
            ])
        var request = runs.request(server.url())
        request.resumption = run.resumption
        // As it goes to another process.
        request = try TransferMessage<TransferRequest>(decoding: TransferMessage(request).encoded()).content
        let result = try await runs.run(request)
        #expect(result.outcome == ["response 206 10 5", "progress 0/-1 10/10", "metrics", "finished"])
        #expect(result.text == "0123456789")
    }
}
