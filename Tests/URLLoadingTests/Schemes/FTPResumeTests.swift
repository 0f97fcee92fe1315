import Foundation
import TestSupport
import Testing
import URLLoading

/// Resumed FTP downloads.
@Suite(.leavesNothing) struct FTPResumeTests {
    private static let whole = [UInt8].pattern(count: 2_000_000)
    private static let half = 1_000_000

    /// A server whose first transfer stops in the middle. `scriptedReply` determines the later replies.
    private func server(
        user: Bool = false, first: FTPServer.Reply = .stall(half), modified: String? = nil,
        _ scriptedReply: @escaping @Sendable (FTPServer.Command) -> FTPServer.Reply? = { _ in nil }
    ) throws -> FTPServer {
        let isFirst = Watched(true)
        var options = FTPServer.Options()
        options.files = ["/d/f.bin": Self.whole]
        if user { options.users = ["ann": "s3cret"] }
        if let modified { options.modificationTime = modified }
        options.scriptedReply = { command in
            if command.verb == "RETR",
                isFirst.withValue({ isFirst in
                    defer { isFirst = false }
                    return isFirst
                })
            {
                return first
            }
            return command.connection == 0 ? nil : scriptedReply(command)
        }
        return try FTPServer(options)
    }

    /// Stops a download after half of it was written.
    private func stop(_ server: FTPServer, user: String? = nil) async throws -> Data? {
        let delegate = RecordingDownloadDelegate()
        let session = URLSession(delegate)
        let stopped = Watched<Data??>(nil)
        let isStopped = Signal("resume data")
        delegate.during = { call, _, task in
            guard case .wrote(_, Int64(Self.half), _) = call, let task = task as? URLSessionDownloadTask else { return }
            task.cancel { data in
                stopped.withValue { $0 = data }
                isStopped.fire()
            }
        }
        session.downloadTask(with: server.url("/d/f.bin", user: user)).resume()
        try await isStopped.wait()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        return stopped.current ?? nil
    }

    private func resume(
        _ data: Data,
        challenge: (@Sendable (URLAuthenticationChallenge, @escaping RecordingDelegate.ChallengeHandler) -> Void)? = nil
    ) async throws -> (content: [Data], calls: [Call]) {
        let delegate = RecordingDownloadDelegate()
        delegate.challenge = challenge
        let session = URLSession(delegate)
        session.downloadTask(withResumeData: data).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        return (delegate.contents.events, calls)
    }

    // MISC-17, RES-1 to RES-4, RES-11
    @Test("resumes at the offset") func resumesAtTheOffset() async throws {
        let server = try server()
        defer { server.stop() }
        let data = try #require(try await stop(server))
        let (content, calls) = try await resume(data)
        let (half, whole) = (Int64(Self.half), Int64(Self.whole.count))
        #expect(
            calls == [
                .created(1), .resumed(1, half, whole), .wrote(1, whole, whole), .downloaded(1, Self.whole.count),
                .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(content == [Data(Self.whole)])
        #expect(server.commands(on: 1).contains("REST \(Self.half)"))
    }

    // RES-1, RES-3: it may change once more within that second
    @Test(
        "a file that has just been modified gives no resume data",
        arguments: [(-10, false), (10, false), (-3600, true), (3600, true)] as [(Double, Bool)])
    func justModified(seconds: Double, isResumable: Bool) async throws {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "yyyyMMddHHmmss"
        let server = try server(modified: format.string(from: Date(timeIntervalSinceNow: seconds)))
        defer { server.stop() }
        let data = try await stop(server)
        #expect((data != nil) == isResumable)
    }

    // RES-5 to RES-7: another size, another time, or a server that cannot
    @Test(
        "begins anew",
        arguments: [
            ("SIZE", FTPServer.Reply.line("213 1999999")), ("MDTM", .line("213 20270102030405")),
            ("MDTM", .line("500 no")),
            ("REST", .line("502 no")),
        ])
    func startsOver(verb: String, scriptedReply: FTPServer.Reply) async throws {
        let server = try server { $0.verb == verb ? scriptedReply : nil }
        defer { server.stop() }
        let data = try #require(try await stop(server))
        let (content, calls) = try await resume(data)
        #expect(!calls.contains { if case .resumed = $0 { true } else { false } })
        #expect(calls.contains(.completed(1, nil)))
        #expect(content == [Data(Self.whole)])
    }

    // RES-1, RES-6: what was there is gone, or shorter, by the time the rest comes
    @Test("without its file", arguments: [true, false]) func withoutItsFile(isGone: Bool) async throws {
        let server = try server()
        defer { server.stop() }
        let data = try #require(try await stop(server))
        let name = try #require(URLSessionDownloadTask.fileName(inResumeData: data))
        let path = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent(name).path
        let delegate = RecordingDownloadDelegate()
        let session = URLSession(delegate)
        let task = session.downloadTask(withResumeData: data)
        if isGone { unlink(path) } else { truncate(path, 1000) }
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.suffix(3) == [.metrics(1), .completed(1, nil), .invalid])
        #expect(delegate.contents.events == [Data(Self.whole)])
        unlink(path)
    }

    // RES-2, RES-12: an error has resume data too
    @Test("after a failure") func afterAFailure() async throws {
        let server = try server(first: .cut(Self.half, "426 Aborted"))
        defer { server.stop() }
        let session = URLSession { _ in }
        let error = await #expect(throws: URLError.self) { try await session.download(from: server.url("/d/f.bin")) }
        #expect(error?.code == .networkConnectionLost)
        let data = try #require(error?.downloadTaskResumeData)
        let (file, _) = try await session.download(resumeFrom: data)
        #expect(try Data(contentsOf: file) == Data(Self.whole))
        try FileManager.default.removeItem(at: file)
        session.finishTasksAndInvalidate()
    }

    // RES-9, RES-12: what had come before is not lost because nothing came now
    @Test("after a failure to begin") func afterAFailureToBegin() async throws {
        let server = try server { $0.verb.isEmpty && $0.connection == 1 ? .close : nil }
        defer { server.stop() }
        let data = try #require(try await stop(server))
        let session = URLSession { _ in }
        let error = await #expect(throws: URLError.self) { try await session.download(resumeFrom: data) }
        #expect(error?.code == .networkConnectionLost)
        let (file, _) = try await session.download(resumeFrom: try #require(error?.downloadTaskResumeData))
        #expect(try Data(contentsOf: file) == Data(Self.whole))
        try FileManager.default.removeItem(at: file)
        #expect(server.commands(on: 2).contains("REST \(Self.half)"))
        session.finishTasksAndInvalidate()
    }

    // RES-10: no password in resume data
    @Test("a resumed download repeats the challenge") func aResumedDownloadRepeatsTheChallenge() async throws {
        let server = try server(user: true)
        defer { server.stop() }
        let data = try #require(try await stop(server, user: "ann:s3cret"))
        #expect(data.range(of: Data("s3cret".utf8)) == nil)
        let (content, calls) = try await resume(data) { _, handler in
            handler(.useCredential, URLCredential(user: "ann", password: "s3cret", persistence: .none))
        }
        #expect(calls.contains(.challenge(1, "Default", 0)))
        #expect(content == [Data(Self.whole)])
    }

    // RES-1: nothing to compare with
    @Test("a server without MDTM") func aServerWithoutMDTM() async throws {
        var options = FTPServer.Options()
        options.files = ["/d/f.bin": Self.whole]
        options.scriptedReply = { command in
            switch command.verb {
            case "MDTM": .line("502 no")
            case "RETR": .stall(Self.half)
            default: nil
            }
        }
        let server = try FTPServer(options)
        defer { server.stop() }
        #expect(try await stop(server) == nil)
    }
}
