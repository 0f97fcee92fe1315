import Foundation
import TestSupport
import Testing
import URLLoading

/// `file:` URLs.
@Suite(.leavesNothing) struct FileURLTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func calls(_ request: URLRequest) async throws -> [Call] {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return calls
    }

    private func code(_ url: URL, method: String = "GET", body: Data? = nil) async -> URLError? {
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body
        return await #expect(throws: URLError.self) { try await URLSession.shared.data(for: request) }
    }

    // MISC-15, S-4, T-27, T-39
    @Test("a file") func aFile() async throws {
        let url = try folder.write("hello", to: "some file.txt")
        #expect(
            try await calls(URLRequest(url: url)) == [
                .created(1), .response(1, 0), .data(1, "hello"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // MISC-15, MISC-11: the type by the name, then by the bytes
    @Test(
        "its type",
        arguments: [
            ("a.json", "{}", "application/json"), ("a.HTML", "x", "text/html"), ("none", "%PDF-1.4", "application/pdf"),
            ("none", "plain", "text/plain"), ("empty", "", nil),
        ])
    func itsType(name: String, content: String, type: String?) async throws {
        let url = try folder.write(content, to: name)
        let (data, response) = try await URLSession.shared.data(from: url)
        #expect(data == Data(content.utf8))
        #expect(!(response is HTTPURLResponse))
        #expect(response.url == url)
        #expect(response.mimeType == type)
        #expect(response.expectedContentLength == Int64(content.utf8.count))
        #expect(response.textEncodingName == nil)
        #expect(response.suggestedFilename == (name.contains(".") ? name : response.suggestedFilename))
    }

    // MISC-15: type and length only
    @Test("HEAD") func head() async throws {
        let url = try folder.write("hello", to: "a.txt")
        var request = URLRequest(url: url)
        request.httpMethod = "HEAD"
        let (data, response) = try await URLSession.shared.data(for: request)
        #expect(data == Data())
        #expect(response.expectedContentLength == 5)
        #expect(try await calls(request) == [.created(1), .response(1, 0), .metrics(1), .completed(1, nil), .invalid])
    }

    // ERR-8, MISC-15
    @Test("unreadable files") func unreadableFiles() async throws {
        let missing = await code(folder.file("missing"))
        #expect(missing?.code == .fileDoesNotExist)
        #expect(missing?.failingURL == folder.file("missing"))
        #expect(await code(folder.url)?.code == .fileIsDirectory)
        #expect(await code(folder.file("missing/below"))?.code == .fileDoesNotExist)
        #expect(await code(try #require(URL(string: "file:///dev/null")))?.code == .noPermissionsToReadFile)
        #expect(await code(try #require(URL(string: "file:///tmp/a%00b")))?.code == .fileDoesNotExist)
        let secret = try folder.write("x", to: "secret")
        chmod(secret.path, 0)
        // The superuser may read everything.
        if geteuid() != 0 { #expect(await code(secret)?.code == .noPermissionsToReadFile) }
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        #expect(await code(pipe)?.code == .noPermissionsToReadFile)
    }

    // MISC-15: neither written nor looked for on other machines
    @Test("unsupported features") func unsupportedFeatures() async throws {
        let url = try folder.write("x", to: "a.txt")
        #expect(await code(url, method: "PUT")?.code == .unsupportedURL)
        #expect(await code(url, method: "POST", body: Data("new".utf8))?.code == .unsupportedURL)
        #expect(try String(contentsOf: url, encoding: .utf8) == "x")
        #expect(await code(try #require(URL(string: "file://elsewhere\(url.path)")))?.code == .unsupportedURL)
        let (data, _) = try await URLSession.shared.data(
            from: try #require(URL(string: "file://localhost\(url.path)?query#fragment")))
        #expect(data == Data("x".utf8))
    }

    // MISC-15: files whose size says nothing
    @Test("a file of the kernel's") func aFileOfTheKernels() async throws {
        let (data, response) = try await URLSession.shared.data(from: URL(fileURLWithPath: "/proc/self/status"))
        #expect(String(decoding: data, as: UTF8.self).hasPrefix("Name:"))
        #expect(response.expectedContentLength == Int64(data.count))
    }

    // MISC-15, S-70, T-65
    @Test("a large file, by each kind of task") func aLargeFile() async throws {
        let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
        let url = try folder.write(content, to: "large.bin")
        let (whole, _) = try await URLSession.shared.data(from: url)
        #expect(whole == content)
        let (file, response) = try await URLSession.shared.download(from: url)
        #expect(try Data(contentsOf: file) == content)
        #expect(response.expectedContentLength == 3_000_000)
        try FileManager.default.removeItem(at: file)
        #expect(FileManager.default.fileExists(atPath: url.path))
        let (bytes, _) = try await URLSession.shared.bytes(from: url)
        var count = 0
        for try await _ in bytes { count += 1 }
        #expect(count == content.count)
        let delegate = RecordingDownloadDelegate()
        let session = URLSession(delegate)
        session.downloadTask(with: url).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .wrote(1, 3_000_000, 3_000_000), .downloaded(1, 3_000_000), .metrics(1),
                .completed(1, nil), .invalid,
            ])
        #expect(delegate.contents.events == [content])
    }

    // T-65: a reader that stops has the file stop
    @Test("a slow delegate") func aSlowDelegate() async throws {
        let content = Data(repeating: 1, count: 8_000_000)
        let url = try folder.write(content, to: "large.bin")
        let queue = OperationQueue(name: "slow", width: 1)
        let delegate = CountingDelegate()
        let largest = Watched(0)
        let task = Watched<URLSessionTask?>(nil)
        delegate.during = { count, dataTask in
            let ahead = Int(dataTask.countOfBytesReceived) - count
            largest.withValue { $0 = max($0, ahead) }
        }
        let session = URLSession(delegate, queue: queue)
        queue.isSuspended = true
        let loading = session.dataTask(with: url)
        task.withValue { $0 = loading }
        loading.resume()
        queue.isSuspended = false
        try await delegate.ended.wait()
        session.finishTasksAndInvalidate()
        #expect(delegate.error.current == nil)
        #expect(delegate.received.current == content.count)
        #expect(largest.current <= 2_000_000)
    }

    // T-5
    @Test("cancelling") func cancelling() async throws {
        let url = try folder.write(Data(repeating: 1, count: 8_000_000), to: "large.bin")
        let delegate = CountingDelegate()
        delegate.during = { $1.cancel() }
        let session = URLSession(delegate)
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
        try await delegate.ended.wait()
        #expect(delegate.error.current == .cancelled)
        #expect(delegate.received.current < 8_000_000)
    }

    // MISC-15: a truncated file is an error
    @Test("a file that shrinks") func aFileThatShrinks() async throws {
        let url = try folder.write(Data(repeating: 1, count: 8_000_000), to: "large.bin")
        let delegate = CountingDelegate()
        delegate.answer = { _, answer in
            truncate(url.path, 1_000_000)
            answer(.allow)
        }
        let session = URLSession(delegate)
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
        try await delegate.ended.wait()
        #expect(delegate.error.current == .fileDoesNotExist)
    }
}
