import Foundation
import TestSupport
import Testing
import URLLoading

/// `ftp:` URLs against vsftpd.
@Suite(.needs(.vsftpd)) struct VsftpdTests {
    private static let large = [UInt8].pattern(count: 5_000_000)
    private static let files = [
        "a.txt": Array("hello".utf8), "some folder/b c.json": Array("{}".utf8), "large.bin": large, "empty": [],
    ]

    private func content(_ url: URL) async throws -> (Data, URLResponse) {
        let session = URLSession(configuration: .ephemeral)
        defer { session.finishTasksAndInvalidate() }
        return try await session.data(from: url)
    }

    private func code(_ url: URL) async -> URLError.Code? {
        await #expect(throws: URLError.self) { try await content(url) }?.code
    }

    // MISC-17
    @Test("files") func files() async throws {
        let server = try VsftpdServer(files: Self.files)
        defer { server.stop() }
        for (name, bytes) in Self.files {
            let path = "/" + name.replacingOccurrences(of: " ", with: "%20")
            let (data, response) = try await content(server.url(path))
            #expect(data == Data(bytes))
            #expect(response.expectedContentLength == Int64(bytes.count))
        }
        #expect(try await content(server.url("/a.txt")).1.mimeType == "text/plain")
    }

    // MISC-17
    @Test("a directory") func aDirectory() async throws {
        let server = try VsftpdServer(files: Self.files)
        defer { server.stop() }
        let (data, response) = try await content(server.url("/"))
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\r\n")
        #expect(lines.count == 4)
        #expect(lines.contains { $0.hasPrefix("-rw") && $0.hasSuffix(" a.txt") })
        #expect(lines.contains { $0.hasPrefix("drwx") && $0.hasSuffix(" some folder") })
        #expect(response.mimeType == "text/plain")
        let (names, _) = try await content(server.url("/some%20folder;type=d"))
        #expect(String(decoding: names, as: UTF8.self) == "b c.json\r\n")
        #expect(await code(server.url("/some%20folder")) == .fileIsDirectory)
    }

    // MISC-17, ERR-8
    @Test("missing files") func missingFiles() async throws {
        let server = try VsftpdServer(files: Self.files)
        defer { server.stop() }
        #expect(await code(server.url("/none")) == .fileDoesNotExist)
        #expect(await code(server.url("/none/none")) == .fileDoesNotExist)
    }

    // MISC-17: RFC 2428
    @Test("IPv6") func ipv6() async throws {
        let server = try VsftpdServer(files: Self.files, address: .ipv6)
        defer { server.stop() }
        #expect(try await content(server.url("/large.bin", host: "[::1]")).0 == Data(Self.large))
    }

    // MISC-17: EPSV refused
    @Test("PASV") func pasv() async throws {
        let server = try VsftpdServer(
            files: Self.files, directives: "cmds_denied=EPSV\npasv_address=10.255.255.1\npasv_addr_resolve=NO")
        defer { server.stop() }
        #expect(try await content(server.url("/large.bin")).0 == Data(Self.large))
    }

    // MISC-17, AUTH-9, AUTH-11
    @Test("logins") func logins() async throws {
        let server = try VsftpdServer(files: Self.files, wantsPassword: true)
        defer { server.stop() }
        let user = VsftpdServer.user
        let secret = VsftpdServer.password.replacingOccurrences(of: "@", with: "%40")
        #expect(try await content(server.url("/a.txt", user: "\(user):\(secret)")).0 == Data("hello".utf8))
        #expect(await code(server.url("/a.txt", user: "\(user):wrong")) == .userAuthenticationRequired)
        #expect(await code(server.url("/a.txt")) == .userAuthenticationRequired)
        let delegate = Answering()
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        #expect(try await session.data(from: server.url("/a.txt")).0 == Data("hello".utf8))
        #expect(
            delegate.seen.events == [
                "ftp NSURLAuthenticationMethodDefault 0", "ftp NSURLAuthenticationMethodDefault 1",
            ])
        // Known from now on.
        #expect(try await session.data(from: server.url("/a.txt")).0 == Data("hello".utf8))
        #expect(delegate.seen.events.count == 2)
        session.invalidateAndCancel()
    }

    // MISC-17, RES-1 to RES-7, RES-11
    @Test("going on", arguments: [false, true]) func goingOn(isChanged: Bool) async throws {
        let server = try VsftpdServer(files: Self.files, directives: "anon_max_rate=3000000")
        defer { server.stop() }
        let delegate = Stopping()
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        session.downloadTask(with: server.url("/large.bin")).resume()
        try await delegate.isStopped.wait()
        let data = try #require(delegate.resumeData.current ?? nil)
        var expected = Self.large
        if isChanged {
            expected.append(1)
            try server.change("large.bin", to: expected)
        }
        let resumed = Stopping(mayStop: false)
        let second = URLSession(configuration: .ephemeral, delegate: resumed, delegateQueue: nil)
        second.downloadTask(withResumeData: data).resume()
        try await resumed.isStopped.wait()
        #expect(resumed.content.current == Data(expected))
        #expect((resumed.offset.current > 0) == !isChanged)
        session.invalidateAndCancel()
        second.invalidateAndCancel()
    }
}

/// Answers wrong first, and then right.
private final class Answering: NSObject, URLSessionTaskDelegate {
    let seen = EventRecorder<String>()

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let space = challenge.protectionSpace
        let count = challenge.previousFailureCount
        seen.record("\(space.protocol ?? "") \(space.authenticationMethod) \(count)")
        let password = count == 0 ? "wrong" : VsftpdServer.password
        completionHandler(
            .useCredential, URLCredential(user: VsftpdServer.user, password: password, persistence: .forSession))
    }
}

/// Stops a download when a good part of it is there, and otherwise waits for its end.
private final class Stopping: NSObject, URLSessionDownloadDelegate {
    let resumeData = Watched<Data??>(nil)
    let content = Watched<Data?>(nil)
    let offset = Watched<Int64>(0)
    let isStopped = Signal("the end")
    private let mayStop: Watched<Bool>

    init(mayStop: Bool = true) { self.mayStop = Watched(mayStop) }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        let stops = mayStop.withValue { mayStop in
            guard mayStop, totalBytesWritten > 500_000 else { return false }
            mayStop = false
            return true
        }
        guard stops else { return }
        downloadTask.cancel { data in
            self.resumeData.withValue { $0 = data }
            self.isStopped.fire()
        }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        offset.withValue { $0 = fileOffset }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        let data = try? Data(contentsOf: location)
        content.withValue { $0 = data }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if resumeData.current == nil, error == nil { isStopped.fire() }
    }
}
