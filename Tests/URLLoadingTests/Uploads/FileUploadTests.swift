import Foundation
import TestSupport
import Testing
import URLLoading

/// Uploads of files: failures, and memory use.
@Suite(.leavesNothing) struct FileUploadTests {
    private func calls(
        _ server: ScriptedServer, _ file: URL, _ delegate: RecordingDelegate = RecordingUploadDelegate()
    ) async throws -> [Call] {
        try await UploadRun(server: server).calls(delegate) { $0.uploadTask(with: $1, fromFile: file) }
    }

    // ERR-8, T-38
    @Test("a file that can't be sent", arguments: ["missing", "directory", "remote", "nul", "nul in /proc"])
    func aFileThatCantBeSent(what: String) async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = directory.file(what)
        switch what {
        case "directory": try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        default: break
        }
        let url =
            switch what {
            case "remote": server.url("/x")
            case "nul": URL(fileURLWithPath: "/etc/passwd\0x")
            case "nul in /proc": URL(fileURLWithPath: "/proc/version\0x")
            default: file
            }
        let code: URLError.Code =
            switch what {
            case "directory": .fileIsDirectory
            default: .fileDoesNotExist
            }
        #expect(
            try await calls(server, url) == [.created(1), .metrics(1), .completed(1, code), .invalid])
        #expect(server.connectionCount == 0)
    }

    // T-15, T-53: what has no size is sent as it is read, to its end
    @Test("files that are not regular", arguments: ["pipe", "device", "proc"])
    func filesThatAreNotRegular(what: String) async throws {
        let server = try ScriptedServer.answering { request in
            let framing = request["Content-Length"] ?? request["Transfer-Encoding"] ?? "nothing"
            return .text("\(framing) \(request.body.weight)")
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let pipe = directory.file("pipe")
        let bytes = [UInt8].pattern(count: 300_000)
        var expected = bytes
        switch what {
        case "pipe": #expect(mkfifo(pipe.path, 0o600) == 0)
        case "device": expected = []
        default: expected = try Array(Data(contentsOf: URL(fileURLWithPath: "/proc/version")))
        }
        async let written: Void = what == "pipe" ? Data(bytes).write(to: pipe) : ()
        let file = what == "pipe" ? pipe : URL(fileURLWithPath: what == "device" ? "/dev/null" : "/proc/version")
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: server.url())
        request.httpMethod = "PUT"
        let (data, _) = try await session.upload(for: request, fromFile: file)
        #expect(String(decoding: data, as: UTF8.self) == "chunked \(expected.weight)")
        try await written
    }

    // T-51: a file of /proc can be read again, a pipe cannot
    @Test("files that are not regular, sent again", arguments: ["pipe", "proc"])
    func filesThatAreNotRegularSentAgain(what: String) async throws {
        let server = try ScriptedServer.answering { request in
            request.path == "/" ? .redirect(to: "/b", status: 307) : .text(request.body.weight)
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let pipe = directory.file("pipe")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        async let written: Void = what == "pipe" ? Data("some text".utf8).write(to: pipe) : ()
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: server.url())
        request.httpMethod = "PUT"
        let file = what == "pipe" ? pipe : URL(fileURLWithPath: "/proc/version")
        let result: String
        do {
            let (data, _) = try await session.upload(for: request, fromFile: file)
            result = String(decoding: data, as: UTF8.self)
        } catch let error as URLError {
            result = "\(error.errorCode)"
        }
        try await written
        let version = try Array(Data(contentsOf: URL(fileURLWithPath: "/proc/version")))
        #expect(result == (what == "pipe" ? "\(URLError.Code.requestBodyStreamExhausted.rawValue)" : version.weight))
    }

    // ERR-8: root may read everything
    @Test("a file of another user", .enabled(if: geteuid() != 0)) func aFileOfAnotherUser() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = try directory.write("secret", to: "file")
        #expect(chmod(file.path, 0) == 0)
        #expect(
            try await calls(server, file) == [
                .created(1), .metrics(1), .completed(1, .noPermissionsToReadFile), .invalid,
            ])
    }

    /// A server that reads the head, waits while the file is changed, and reads the rest.
    private func server(_ body: Signal, _ change: @escaping @Sendable () -> Void) throws -> ScriptedServer {
        var options = ScriptedServer.Options()
        options.receiveBufferSize = 64 * 1024
        return try ScriptedServer(options) { connection in
            let head = try connection.readRequestHead()
            change()
            body.fire()
            guard let request = try? connection.readBody(of: head) else { return }
            try connection.send(.text("PUT \(request.body.weight)"), to: request)
            try connection.waitForClose()
        }
    }

    // ERR-10: what is missing is not made up for, and the half is no success
    @Test("a file that shrinks while it is sent", arguments: [0, 1_000_000])
    func aFileThatShrinksWhileItIsSent(length: Int) async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("large")
        try Data().write(to: file)
        #expect(truncate(file.path, 64 << 20) == 0)
        let server = try server(Signal()) { truncate(file.path, off_t(length)) }
        defer { server.stop() }
        let calls = try await calls(server, file)
        #expect(
            calls.withoutSent == [.created(1), .metrics(1), .completed(1, .requestBodyStreamExhausted), .invalid])
        try await server.finish()
    }

    // MISC-5: as much as was announced
    @Test("a file that grows while it is sent") func aFileThatGrowsWhileItIsSent() async throws {
        let directory = try TemporaryDirectory()
        let bytes = [UInt8].pattern(count: 8 << 20)
        let file = try directory.write(bytes, to: "large")
        let server = try server(Signal()) { truncate(file.path, 64 << 20) }
        defer { server.stop() }
        let size = Int64(bytes.count)
        #expect(
            try await calls(server, file) == [
                .created(1), .sent(1, size, size), .response(1, 200), .data(1, "PUT \(bytes.weight)"), .metrics(1),
                .completed(1, nil), .invalid,
            ])
    }

    // T-15: whatever it was when the task was made
    @Test("a file that changes before it is sent") func aFileThatChangesBeforeItIsSent() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = try directory.write("before", to: "file")
        let calls = try await UploadRun(server: server).calls(RecordingUploadDelegate()) { session, request in
            let task = session.uploadTask(with: request, fromFile: file)
            #expect(task.countOfBytesExpectedToSend == 6)
            #expect((try? Data("after that".utf8).write(to: file)) != nil)
            return task
        }
        #expect(
            calls == [
                .created(1), .sent(1, 10, 10), .response(1, 200), .data(1, "PUT \("after that".utf8.weight)"),
                .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // T-9: what is open can be sent
    @Test("a file that is removed while it is sent") func aFileThatIsRemovedWhileItIsSent() async throws {
        let directory = try TemporaryDirectory()
        let bytes = [UInt8].pattern(count: 8 << 20)
        let file = try directory.write(bytes, to: "large")
        let server = try server(Signal()) { unlink(file.path) }
        defer { server.stop() }
        #expect(try await calls(server, file).contains(.data(1, "PUT \(bytes.weight)")))
    }

    // CONN-22: back-pressure, in the clear and over TLS
    @Test("a large file needs little memory", .timeLimit(.minutes(2)), arguments: [true, false])
    func aLargeFileNeedsLittleMemory(isSecure: Bool) async throws {
        let length = 256 << 20
        let directory = try TemporaryDirectory()
        let file = try directory.write("", to: "large")
        #expect(truncate(file.path, off_t(length)) == 0)
        let peak = Watched(0)
        let server = try ScriptedServer(tls: isSecure ? TrustedAuthority.server() : nil) { connection in
            _ = try connection.readRequestHead()
            var left = length
            while left > 0 {
                left -= try connection.receive().count
                peak.withValue { $0 = max($0, Memory.resident) }
            }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let before = Memory.resident
        let calls = try await UploadRun(server: server).calls(CountingSentDelegate(), within: .seconds(100)) {
            $0.uploadTask(with: $1, fromFile: file)
        }
        #expect(
            calls == [
                .created(1), .sent(1, Int64(length), Int64(length)), .response(1, 200), .metrics(1), .completed(1, nil),
                .invalid,
            ])
        // Of which the server's own buffers are a part.
        #expect(peak.current - before < Memory.limit(24 << 20))
    }

    // CONN-17, CONN-15: a server that takes a little now and then is none that has gone to sleep
    @Test("a server that reads slowly") func aServerThatReadsSlowly() async throws {
        var options = ScriptedServer.Options()
        options.receiveBufferSize = 64 * 1024
        let length = 6 << 20
        let server = try ScriptedServer(options) { connection in
            let head = try connection.readRequestHead()
            var left = length
            // Longer in all than the request may be idle.
            for _ in 0..<12 {
                try? Signal("nothing").wait(within: .milliseconds(100))
                left -= try connection.receive(exactly: min(left, 200_000)).count
            }
            _ = try connection.receive(exactly: left)
            try connection.send(.text("done"), to: head)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = try directory.write([UInt8].pattern(count: length), to: "large")
        let run = UploadRun(server: server) { $0.timeoutIntervalForRequest = 0.8 }
        let calls = try await run.calls(RecordingUploadDelegate()) { $0.uploadTask(with: $1, fromFile: file) }
        #expect(calls.contains(.data(1, "done")))
        #expect(calls.failure == nil)
    }

    // CONN-15, CONN-17: nothing moves any more
    @Test("a server that stops reading") func aServerThatStopsReading() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            try connection.stopReading()
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = try directory.write("", to: "large")
        #expect(truncate(file.path, 64 << 20) == 0)
        let cpu = clock()
        let run = UploadRun(server: server) { $0.timeoutIntervalForRequest = 1 }
        let calls = try await run.calls(RecordingUploadDelegate()) { $0.uploadTask(with: $1, fromFile: file) }
        #expect(calls.withoutSent == [.created(1), .metrics(1), .completed(1, .timedOut), .invalid])
        // Waiting costs nothing; the start of the upload is in it.
        #expect(Double(clock() - cpu) / Double(CLOCKS_PER_SEC) < 0.5)
    }

    // CONN-27: the refusal counts, whatever becomes of the rest of the body
    @Test("a refusal in the middle of a file", arguments: [true, false], [true, false])
    func aRefusalInTheMiddleOfAFile(closes: Bool, isSecure: Bool) async throws {
        let server = try ScriptedServer(tls: isSecure ? TrustedAuthority.server() : nil) { connection in
            _ = try connection.readRequestHead()
            try connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
            if closes { try connection.finishSending() }
            try connection.waitForClose()
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = try directory.write("", to: "large")
        #expect(truncate(file.path, 64 << 20) == 0)
        #expect(
            try await calls(server, file).withoutSent == [
                .created(1), .response(1, 413), .data(1, "no"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // CONN-27, ERR-5: a broken pipe is an error, never a signal
    @Test("a reset in the middle of a file", arguments: 0..<10) func aResetInTheMiddleOfAFile(run: Int) async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            _ = try connection.receive(exactly: 100_000 * run)
            connection.reset()
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = try directory.write("", to: "large")
        #expect(truncate(file.path, 64 << 20) == 0)
        #expect(
            try await calls(server, file).withoutSent == [
                .created(1), .metrics(1), .completed(1, .networkConnectionLost), .invalid,
            ])
    }
}

/// Records only the last progress callback.
private final class CountingSentDelegate: RecordingDelegate, @unchecked Sendable {
    // Sendable as the class it comes from.
    private let last = Watched<(Int64, Int64)?>(nil)

    override func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        last.withValue { $0 = (totalBytesSent, totalBytesExpectedToSend) }
    }

    override func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let (total, expected) = last.current { calls.record(.sent(dataTask.taskIdentifier, total, expected)) }
        super.urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler)
    }
}
