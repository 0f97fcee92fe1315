import Foundation
import TestSupport
import Testing
import URLLoading

/// The files of failed downloads that are not resumed.
@Suite(.leavesNothing) struct AbandonedDownloadTests {
    private static let whole = [UInt8].pattern(count: 1_000_000)
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] }

    private func session() -> URLSession {
        URLSession { [folder] in
            $0.downloadFolder = folder.path
            $0.usesScripts()
        }
    }

    /// Sends half of a body and closes; serves the rest for range requests.
    private func makeServer() throws -> ScriptedServer {
        try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                let fields = "ETag: \"v1\"\r\nAccept-Ranges: bytes\r\n"
                let half = Self.whole.count / 2
                if request["Range"] == nil {
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(Self.whole.count)\r\n\(fields)\r\n")
                    try connection.send(Array(Self.whole[..<half]))
                    return connection.close()
                }
                try connection.send(
                    "HTTP/1.1 206 Partial Content\r\nContent-Length: \(Self.whole.count - half)\r\n"
                        + "Content-Range: bytes \(half)-\(Self.whole.count - 1)/\(Self.whole.count)\r\n\(fields)\r\n")
                try connection.send(Array(Self.whole[half...]))
            }
        }
    }

    private func failure(_ session: URLSession, _ server: ScriptedServer) async throws -> URLError {
        do {
            _ = try await session.download(from: server.url("/file"))
        } catch let error as URLError {
            return error
        }
        throw POSIXFailure("download succeeded", code: 0)
    }

    private func resume(_ session: URLSession, _ data: Data) async throws {
        let (file, response) = try await session.download(resumeFrom: data)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect((response as? HTTPURLResponse)?.statusCode == 206)
        #expect(try Data(contentsOf: file) == Data(Self.whole))
    }

    // RES-12
    @Test("releasing the error removes the file") func droppedErrors() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let session = session()
        for _ in 0..<5 { #expect(try await failure(session, server).code == .networkConnectionLost) }
        try await eventually { names.isEmpty }
        session.invalidateAndCancel()
    }

    // RES-12: by whatever way the program reads it
    @Test("with the resume data that the program holds its file stays") func heldData() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let session = session()
        var data = try await failure(session, server).errorUserInfo[NSURLSessionDownloadTaskResumeData] as? Data
        #expect(names.count == 1)
        try await resume(session, try #require(data))
        data = nil
        try await eventually { names.isEmpty }
        session.invalidateAndCancel()
    }

    // RES-9, RES-12: as a program does that goes on after its next start
    @Test("a file whose resume data was accessed is kept") func takenData() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let session = session()
        let bytes = try [UInt8](#require(try await failure(session, server).downloadTaskResumeData))
        // Whatever held the data before.
        #expect(names.count == 1)
        session.invalidateAndCancel()
        let next = self.session()
        try await resume(next, Data(bytes))
        try await eventually { names.isEmpty }
        next.invalidateAndCancel()
    }

    // RES-1: bytes copied elsewhere do not count
    @Test("without its file a download starts over") func goneFile() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let session = session()
        let bytes = try [UInt8](
            #require(try await failure(session, server).errorUserInfo[NSURLSessionDownloadTaskResumeData] as? Data))
        try await eventually { names.isEmpty }
        await #expect(throws: URLError.self) { try await session.download(resumeFrom: Data(bytes)) }
        #expect(server.requests.map { $0["Range"] } == [nil, nil])
        session.invalidateAndCancel()
    }

    // what came before a redirect is no part of the file
    @Test("a protocol that redirects after data leaves one file") func redirectAfterData() async throws {
        let goal = ScriptedProtocol.script { $0.answer("goal") }
        let start = ScriptedProtocol.script { loading in
            loading.respond()
            loading.load("before")
            loading.redirect(to: goal.url())
        }
        let session = session()
        let (file, _) = try await session.download(from: start.url())
        #expect(try Data(contentsOf: file) == Data("goal".utf8))
        try await eventually { names == [file.lastPathComponent] }
        session.invalidateAndCancel()
    }

    // S-57: there is nothing to give without a response
    @Test("a protocol that ends without a response leaves no file") func noResponse() async throws {
        let script = ScriptedProtocol.script { $0.finish() }
        let session = session()
        await #expect(throws: URLError(.badServerResponse)) { try await session.download(from: script.url()) }
        try await eventually { names.isEmpty }
        session.invalidateAndCancel()
    }

    // RES-12, S-70
    @Test("a process that ends leaves whole files only") func endOfProcess() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let other = try ScriptedServer.answering(.text("whole"))
        defer { other.stop() }
        let user = try SessionUser()
        let urls = [server.url("/a"), other.url("/b"), server.url("/c")].map(\.absoluteString)
        let lines = try user.run(["default", "download"] + urls, environment: ["TMPDIR": folder.path])
        #expect([lines.first, lines.last] == ["failed -1005", "failed -1005"])
        #expect(lines.count == 3)
        #expect(names.map { folder.path + "/" + $0 } == lines.filter { !$0.hasPrefix("failed") })
        for name in names { #expect(try Data(contentsOf: folder.file(name)) == Data("whole".utf8)) }
    }

    // RES-12: no resume data was made for it
    @Test("the next process removes the file of one that was killed") func killedProcess() async throws {
        let half = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 200\r\nETag: \"v1\"\r\n\r\nhalf")
            try connection.waitForClose()
        }
        defer { half.stop() }
        let permits = Permits()
        let held = try ScriptedServer { connection in
            let request = try connection.readRequest()
            try connection.wait(for: permits)
            try connection.send(.text("whole").closing(), to: request)
        }
        defer { held.stop() }
        let user = try SessionUser()
        func start(_ server: ScriptedServer) throws -> ChildProcess {
            try user.start(
                ["default", "download", server.url("/a").absoluteString], environment: ["TMPDIR": folder.path])
        }
        let killed = try start(half)
        try await eventually { names.contains { (try? Data(contentsOf: folder.file($0))) == Data("half".utf8) } }
        let left = try #require(names.first)
        killed.send(SIGKILL)
        #expect(try killed.waitForExit() == .signal(SIGKILL))
        #expect(names == [left])
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -62)], ofItemAtPath: folder.file(left).path)
        let next = try start(held)
        try await eventually { !names.contains(left) }
        permits.release()
        #expect(try next.waitForExit() == .code(0))
    }
}
