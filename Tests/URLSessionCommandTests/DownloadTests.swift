import Foundation
import TestSupport
import Testing

/// `urlsession download`, as a process that ends in every way.
@Suite struct DownloadTests {
    private static let whole = [UInt8].pattern(count: 2_000_000)
    private static let half = 1_000_000

    /// A server with one file. The first response stalls in the middle; later ones are those of `answer`.
    private func makeServer(
        firstStops: Bool = true, _ answer: @escaping @Sendable (ReceivedRequest) -> CannedResponse
    ) throws -> ScriptedServer {
        let mustStop = Watched(firstStops)
        return try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                let stops = mustStop.withValue { stops in
                    defer { stops = false }
                    return stops
                }
                guard stops else {
                    try connection.send(answer(request), to: request)
                    continue
                }
                try connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Length: \(Self.whole.count)\r\nETag: \"v1\"\r\n\r\n")
                try connection.send(Array(Self.whole[..<Self.half]))
                _ = try connection.waitForClose()
                return
            }
        }
    }

    @Sendable private static func rest(of request: ReceivedRequest) -> CannedResponse {
        guard let range = request["Range"], let start = Int(range.dropFirst(6).dropLast()) else {
            return .bytes(whole).with(field: "ETag", "\"v1\"")
        }
        return CannedResponse(206, body: .bytes(Array(whole[start...])))
            .with(field: "Content-Range", "bytes \(start)-\(whole.count - 1)/\(whole.count)")
            .with(field: "ETag", "\"v1\"")
    }

    private static let isKept = "urlsession: 977 KiB are kept in 'FOLDER/a.download': run the same command to resume\n"
    private static let isGoingOn = "urlsession: resuming at 977 KiB of 1.91 MiB\n"
    private static let isDone = "urlsession: 'FOLDER/a', 1.91 MiB\n"

    // T-30
    @Test("the file is complete, and nothing else is left") func aFileComesWhole() throws {
        let harness = try CommandHarness(makeServer(firstStops: false, Self.rest))
        defer { harness.server.stop() }
        let (exit, output) = try harness.download()
        #expect(exit == .code(0))
        #expect(output == Self.isDone)
        #expect(try harness.contents() == Self.whole)
        #expect(try harness.names() == ["a"])
    }

    // RES-1, RES-3, RES-4
    @Test("a second run resumes after a signal", arguments: [SIGINT, SIGTERM])
    func aSecondRunResumesAfterASignal(signal: Int32) async throws {
        let harness = try CommandHarness(makeServer(Self.rest))
        defer { harness.server.stop() }
        let (exit, output) = try await harness.stopDownload(at: Self.half, by: signal)
        #expect(exit == .code(128 + signal))
        #expect(output == Self.isKept)
        #expect(try harness.names() == ["a.download"])
        let second = try harness.download()
        #expect(second.exit == .code(0))
        #expect(second.output == Self.isGoingOn + Self.isDone)
        #expect(try harness.contents() == Self.whole)
        #expect(try harness.names() == ["a"])
        let ranges = harness.server.connections.flatMap(\.requests).map { $0["Range"] }
        #expect(ranges == [nil, "bytes=1000000-"])
    }

    // RES-3, RES-4: a killed process has no output
    @Test("a second run resumes after a kill") func aSecondRunResumesAfterAKill() async throws {
        let harness = try CommandHarness(makeServer(Self.rest))
        defer { harness.server.stop() }
        let (exit, output) = try await harness.stopDownload(at: Self.half, by: SIGKILL)
        #expect(exit == .signal(SIGKILL))
        #expect(output == "")
        let second = try harness.download()
        #expect(second.exit == .code(0))
        #expect(second.output == Self.isGoingOn + Self.isDone)
        #expect(try harness.contents() == Self.whole)
        #expect(try harness.names() == ["a"])
    }

    // RES-12
    @Test("partial data is kept after a lost connection") func partialDataIsKeptAfterALostConnection() throws {
        let tries = Watched(0)
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                let number = tries.withValue { count in
                    count += 1
                    return count
                }
                if number > 1 {
                    try connection.send(Self.rest(of: request), to: request)
                    continue
                }
                try connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Length: \(Self.whole.count)\r\nETag: \"v1\"\r\n\r\n")
                try connection.send(Array(Self.whole[..<Self.half]))
                return connection.close()
            }
        }
        let harness = try CommandHarness(server)
        defer { harness.server.stop() }
        let (exit, output) = try harness.download()
        #expect(exit == .code(18))
        #expect(
            output == "urlsession: PLACE closed the connection after 1000000 of 2000000 bytes: "
                + "the response is incomplete, try again\n" + Self.isKept)
        let second = try harness.download()
        #expect(second.output == Self.isGoingOn + Self.isDone)
        #expect(try harness.contents() == Self.whole)
    }

    // RES-5
    @Test("a changed file starts over") func aChangedFileStartsOver() async throws {
        let harness = try CommandHarness(makeServer { _ in .text("new").with(field: "ETag", "\"v2\"") })
        defer { harness.server.stop() }
        _ = try await harness.stopDownload(at: Self.half, by: SIGKILL)
        let (exit, output) = try harness.download()
        #expect(exit == .code(0))
        #expect(
            output == "urlsession: the file on the server has changed: starting over\nurlsession: 'FOLDER/a', 3 B\n")
        #expect(try harness.contents() == Array("new".utf8))
        #expect(try harness.names() == ["a"])
    }

    // RES-5: an error page does not replace the file
    @Test("a server that is busy takes nothing away") func aServerThatIsBusyTakesNothingAway() async throws {
        let isBusy = Watched(true)
        let server = try makeServer { request in
            isBusy.withValue { busy in
                defer { busy = false }
                return busy ? .text("busy", status: 503) : Self.rest(of: request)
            }
        }
        let harness = try CommandHarness(server)
        defer { harness.server.stop() }
        _ = try await harness.stopDownload(at: Self.half, by: SIGINT)
        let (exit, output) = try harness.download()
        #expect(exit == .code(22))
        #expect(output == "urlsession: SERVER/file answered 503 Service Unavailable\n" + Self.isKept)
        #expect(try harness.names() == ["a.download"])
        let third = try harness.download()
        #expect(third.output == Self.isGoingOn + Self.isDone)
        #expect(try harness.contents() == Self.whole)
    }

    @Test("an error's page makes no file") func anErrorsPageMakesNoFile() throws {
        let harness = try CommandHarness(makeServer(firstStops: false) { _ in .text("no", status: 404) })
        defer { harness.server.stop() }
        let (exit, output) = try harness.download()
        #expect(exit == .code(22))
        #expect(output == "urlsession: SERVER/file answered 404 Not Found\n")
        #expect(try harness.names() == [])
    }

    @Test("a file that is there is replaced only on request") func aFileThatIsThereIsReplacedOnlyOnRequest() throws {
        let harness = try CommandHarness(makeServer(firstStops: false, Self.rest))
        defer { harness.server.stop() }
        try harness.folder.write("old", to: "a")
        let (exit, output) = try harness.download()
        #expect(exit == .code(23))
        #expect(output == "urlsession: 'FOLDER/a' already exists: --force downloads it again\n")
        #expect(try harness.contents() == Array("old".utf8))
        #expect(try harness.names() == ["a"])
        #expect(try harness.download("--force").exit == .code(0))
        #expect(try harness.contents() == Self.whole)
        #expect(try harness.names() == ["a"])
    }

    @Test("--no-resume starts over") func noResumeStartsOver() async throws {
        let harness = try CommandHarness(makeServer(Self.rest))
        defer { harness.server.stop() }
        _ = try await harness.stopDownload(at: Self.half, by: SIGINT)
        let (exit, output) = try harness.download("--no-resume")
        #expect(exit == .code(0))
        #expect(output == Self.isDone)
        #expect(try harness.contents() == Self.whole)
        let ranges = harness.server.connections.flatMap(\.requests).map { $0["Range"] }
        #expect(ranges == [nil, nil])
    }

    @Test("partial data of another URL is not used") func partialDataOfAnotherURLIsNotUsed() async throws {
        let harness = try CommandHarness(makeServer(Self.rest))
        defer { harness.server.stop() }
        _ = try await harness.stopDownload(at: Self.half, by: SIGINT)
        let (exit, output) = try harness.run(
            "download", harness.server.url("/other").absoluteString, harness.target.path)
        #expect(exit == .code(0))
        #expect(
            output == "urlsession: the partial data beside 'FOLDER/a' is from another URL: starting over\n"
                + Self.isDone)
        #expect(harness.server.connections.flatMap(\.requests).map { $0["Range"] } == [nil, nil])
    }

    // RES-10: credentials are sent again
    @Test("no secret is kept") func noSecretIsKept() async throws {
        let harness = try CommandHarness(makeServer(Self.rest))
        defer { harness.server.stop() }
        _ = try await harness.stopDownload(at: Self.half, by: SIGKILL, "-H", "Authorization: Bearer s3cret")
        let record = try Data(contentsOf: harness.kept.appendingPathComponent("record"))
        let fields = try #require(try JSONSerialization.jsonObject(with: record) as? [String: Any])
        let text = try #require(fields["resumeData"] as? String)
        let data = try #require(Data(base64Encoded: text))
        #expect(data.range(of: Data("s3cret".utf8)) == nil)
        #expect(record.range(of: Data("s3cret".utf8)) == nil)
        #expect(try harness.download("-H", "Authorization: Bearer s3cret").exit == .code(0))
        let output = harness.server.connections.flatMap(\.requests).map { $0["Authorization"] }
        #expect(output == ["Bearer s3cret", "Bearer s3cret"])
    }

    // RES-3
    @Test("a second run sends its own fields, and none of the first") func aSecondRunSendsItsOwnFields() async throws {
        let harness = try CommandHarness(makeServer(Self.rest))
        defer { harness.server.stop() }
        _ = try await harness.stopDownload(
            at: Self.half, by: SIGINT, "-H", "X-Api-Key: s3cret", "-H", "X-First: once", "-A", "one")
        let record = try Data(contentsOf: harness.kept.appendingPathComponent("record"))
        let fields = try #require(try JSONSerialization.jsonObject(with: record) as? [String: Any])
        let text = try #require(fields["resumeData"] as? String)
        let data = try #require(Data(base64Encoded: text))
        for field in ["s3cret", "once"] { #expect(data.range(of: Data(field.utf8)) == nil) }
        let second = try harness.download("-H", "X-Api-Key: new", "-A", "two")
        #expect(second.exit == .code(0))
        #expect(second.output == Self.isGoingOn + Self.isDone)
        #expect(try harness.contents() == Self.whole)
        let requests = harness.server.connections.flatMap(\.requests)
        #expect(requests.map { $0["X-Api-Key"] } == ["s3cret", "new"])
        #expect(requests.map { $0["X-First"] } == ["once", nil])
        #expect(requests.map { $0["User-Agent"] } == ["one", "two"])
        #expect(requests.map { $0["Range"] } == [nil, "bytes=1000000-"])
    }

    @Test("two processes do not write one file") func twoProcessesDoNotWriteOneFile() async throws {
        let harness = try CommandHarness(makeServer(Self.rest))
        defer { harness.server.stop() }
        async let first = harness.stopDownload(at: Self.half, by: SIGINT)
        // The first one waits for the server, which waits for it to go.
        try await harness.waitUntilKept(Self.half)
        _ = try await first
        let holder = open(harness.kept.path, O_RDONLY | O_CLOEXEC)
        defer { close(holder) }
        try #require(flock(holder, LOCK_EX | LOCK_NB) == 0)
        let (exit, output) = try harness.download()
        #expect(exit == .code(23))
        #expect(output == "urlsession: 'FOLDER/a' is being downloaded by another process\n")
    }

    @Test("files of others are not removed") func filesOfOthersAreNotRemoved() throws {
        let harness = try CommandHarness(makeServer(firstStops: false, Self.rest))
        defer { harness.server.stop() }
        try harness.folder.write("mine", to: "a.download/notes")
        try harness.folder.write("garbage", to: "a.download/record")
        #expect(try harness.download().exit == .code(0))
        #expect(try harness.contents() == Self.whole)
        #expect(try FileManager.default.contentsOfDirectory(atPath: harness.kept.path) == ["notes"])
    }

    // RES-6: a process was killed between the last byte and the file's place
    @Test("a file that has all still asks whether it is the server's") func aFileThatHasAllStillAsks() async throws {
        let isFirst = Watched(true)
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                guard request["Range"] == nil else {
                    let answer = CannedResponse(416).with(field: "Content-Range", "bytes */\(Self.whole.count)")
                    try connection.send(answer, to: request)
                    continue
                }
                let stops = isFirst.withValue { first in
                    defer { first = false }
                    return first
                }
                guard stops else {
                    try connection.send(Self.rest(of: request), to: request)
                    continue
                }
                // All of it, but the end of the message.
                try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: \"v1\"\r\n\r\n")
                try connection.sendChunk(Self.whole)
                _ = try connection.waitForClose()
                return
            }
        }
        let harness = try CommandHarness(server)
        defer { harness.server.stop() }
        _ = try await harness.stopDownload(at: Self.whole.count, by: SIGKILL)
        let (exit, output) = try harness.download()
        #expect(exit == .code(0))
        #expect(output.hasSuffix(Self.isDone))
        #expect(try harness.contents() == Self.whole)
        let ranges = harness.server.connections.flatMap(\.requests).map { $0["Range"] }
        #expect(ranges == [nil, "bytes=\(Self.whole.count)-", nil])
    }
}
