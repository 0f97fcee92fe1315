import Foundation
import TestSupport
import Testing
import URLLoading

/// Downloads with a full disk, a missing folder, or missing permissions.
@Suite(.leavesNothing) struct DownloadDiskTests {
    enum Framing: CaseIterable { case plain, secure, chunked }

    private static let body = [UInt8].pattern(count: 4_000_000)

    private func server(_ framing: Framing = .plain) throws -> ScriptedServer {
        let pieces = stride(from: 0, to: Self.body.count, by: 100_000).map { Array(Self.body[$0..<$0 + 100_000]) }
        let answer =
            framing == .chunked ? CannedResponse(body: .chunks(pieces, trailers: [])) : .bytes(Self.body)
        return try .answering(tls: framing == .secure ? TrustedAuthority.server() : nil) { _ in answer }
    }

    /// All callbacks except progress.
    private func calls(
        _ server: ScriptedServer, folder: String, _ delegate: RecordingDownloadDelegate = RecordingDownloadDelegate()
    ) async throws -> [Call] {
        let session = URLSession(delegate) { $0.downloadFolder = folder }
        session.downloadTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        return try await delegate.callsUntilInvalid().filter { if case .wrote = $0 { false } else { true } }
    }

    // ERR-8, S-70: the part that found room is not taken for the whole, and does not stay
    @Test(
        "a full disk", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted"),
        arguments: Framing.allCases)
    func aFullDisk(framing: Framing) async throws {
        let disk = try SmallDisk(size: 1_000_000)
        let server = try server(framing)
        defer { server.stop() }
        #expect(
            try await calls(server, folder: disk.path)
                == [.created(1), .metrics(1), .completed(1, .cannotWriteToFile), .invalid])
        #expect(try disk.names() == [])
    }

    // ERR-8: by handler and async, with the cause
    @Test("a full disk, otherwise", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted"))
    func aFullDiskOtherwise() async throws {
        let disk = try SmallDisk(size: 1_000_000)
        let server = try server()
        defer { server.stop() }
        try await URLSession.using {
            $0.downloadFolder = disk.path
        } _: { session in
            let ended = EventRecorder<String>()
            session.downloadTask(with: server.url()) { location, response, error in
                let code = (error as? URLError)?.code.rawValue ?? 0
                ended.record("\(location == nil) \(response == nil) \(code)")
            }.resume()
            #expect(
                try await ended.waitFor(count: 1) == ["true false \(URLError.Code.cannotWriteToFile.rawValue)"])
            do {
                _ = try await session.download(from: server.url())
                Issue.record("there was room")
            } catch let error as URLError {
                #expect(error.code == .cannotWriteToFile)
                let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError
                #expect(cause?.domain == NSPOSIXErrorDomain)
                #expect(cause?.code == Int(ENOSPC))
            }
        }
        #expect(try disk.names() == [])
    }

    // ERR-8, RES-12: there is room again; what was kept of it would have had holes
    @Test("room again", .enabled(if: SmallDisk.isAvailable, "no file system can be mounted"))
    func roomAgain() async throws {
        let disk = try SmallDisk(size: 5_000_000)
        let ballast = URL(fileURLWithPath: disk.path).appendingPathComponent("ballast")
        try Data(count: 3_000_000).write(to: ballast)
        let server = try server()
        defer { server.stop() }
        #expect(try await calls(server, folder: disk.path).contains(.completed(1, .cannotWriteToFile)))
        try FileManager.default.removeItem(at: ballast)
        let delegate = RecordingDownloadDelegate()
        #expect(
            try await calls(server, folder: disk.path, delegate)
                == [.created(1), .downloaded(1, Self.body.count), .metrics(1), .completed(1, nil), .invalid])
        #expect(delegate.contents.events == [Data(Self.body)])
    }

    // ERR-8
    @Test("a missing folder") func aMissingFolder() async throws {
        let path = try TemporaryDirectory().path
        let server = try server()
        defer { server.stop() }
        #expect(
            try await calls(server, folder: path)
                == [.created(1), .metrics(1), .completed(1, .cannotCreateFile), .invalid])
    }

    // ERR-8
    @Test("a folder that is removed during the download") func aFolderThatIsRemovedDuringTheDownload() async throws {
        let folder = try TemporaryDirectory()
        let inner = folder.file("inner")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
        let rest = Signal("the folder is gone")
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(Self.body.count)\r\n\r\n")
            try connection.send(Array(Self.body[..<1_000_000]))
            try connection.wait(for: rest)
            try connection.send(Array(Self.body[1_000_000...]))
            try connection.waitForClose()
        }
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        delegate.during = { call, _, _ in
            guard case .wrote = call, FileManager.default.fileExists(atPath: inner.path) else { return }
            try? FileManager.default.removeItem(at: inner)
            rest.fire()
        }
        #expect(
            try await calls(server, folder: inner.path, delegate)
                == [.created(1), .metrics(1), .completed(1, .cannotCloseFile), .invalid])
    }

    // ERR-8: a folder in which even root cannot create files
    @Test("no permission", .enabled(if: access("/sys/kernel", X_OK) == 0)) func noPermission() async throws {
        let server = try server()
        defer { server.stop() }
        #expect(
            try await calls(server, folder: "/sys/kernel")
                == [.created(1), .metrics(1), .completed(1, .cannotCreateFile), .invalid])
    }
}
