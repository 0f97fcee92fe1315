import Foundation
import TestSupport
import Testing
import URLLoading

/// Successful loads of `ftp:` URLs.
@Suite(.leavesNothing) struct FTPURLTests {
    private func server(_ change: (inout FTPServer.Options) -> Void = { _ in }) throws -> FTPServer {
        var options = FTPServer.Options()
        options.files = [
            "/a.txt": Array("hello".utf8), "/none": Array("%PDF-1.4".utf8), "/empty": [],
            "/d/b c.json": Array("{}".utf8),
            "/d/e/f.bin": .pattern(count: 3_000_000),
        ]
        change(&options)
        return try FTPServer(options)
    }

    private func load(_ url: URL) async throws -> (Data, URLResponse) {
        let session = URLSession { _ in }
        defer { session.finishTasksAndInvalidate() }
        return try await session.data(from: url)
    }

    private func calls(_ url: URL) async throws -> [Call] {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return calls
    }

    // MISC-17, S-4, T-27, T-39
    @Test("a file") func aFile() async throws {
        let server = try server()
        defer { server.stop() }
        #expect(
            try await calls(server.url("/a.txt")) == [
                .created(1), .response(1, 0), .data(1, "hello"), .metrics(1), .completed(1, nil), .invalid,
            ])
        try await server.command("QUIT")
        #expect(
            server.commands == [
                "USER anonymous", "PASS anonymous", "TYPE I", "SIZE a.txt", "EPSV", "RETR a.txt", "QUIT",
            ])
        #expect(server.connectionCount == 1)
    }

    // MISC-17, MISC-11, MISC-13: the type by the name, then by the bytes
    @Test(
        "the response",
        arguments: [
            ("/a.txt", "hello", "text/plain"), ("/none", "%PDF-1.4", "application/pdf"), ("/empty", "", nil),
            ("/d/b%20c.json", "{}", "application/json"),
        ])
    func theResponse(path: String, content: String, type: String?) async throws {
        let server = try server()
        defer { server.stop() }
        let (data, response) = try await load(server.url(path))
        #expect(data == Data(content.utf8))
        #expect(!(response is HTTPURLResponse))
        #expect(response.url == server.url(path))
        #expect(response.mimeType == type)
        #expect(response.expectedContentLength == Int64(content.utf8.count))
        #expect(response.textEncodingName == nil)
    }

    // MISC-17: the length in the 150, when SIZE is not known
    @Test("a server without SIZE") func aServerWithoutSIZE() async throws {
        let server = try server { $0.scriptedReply = { $0.verb == "SIZE" ? .line("502 no") : nil } }
        defer { server.stop() }
        let (data, response) = try await load(server.url("/a.txt"))
        #expect(data == Data("hello".utf8))
        #expect(response.expectedContentLength == -1)
    }

    // MISC-17
    @Test("directories") func directories() async throws {
        let server = try server()
        defer { server.stop() }
        let line = "-rw-r--r-- 1 ftp ftp 1 Jan 02 2026 "
        let (root, response) = try await load(server.url("/"))
        #expect(
            String(decoding: root, as: UTF8.self)
                == ["a.txt", "d", "empty", "none"].map { line + $0 + "\r\n" }.joined())
        #expect(response.mimeType == "text/plain")
        #expect(response.expectedContentLength == -1)
        let (below, _) = try await load(server.url("/d/"))
        #expect(String(decoding: below, as: UTF8.self) == "\(line)b c.json\r\n\(line)e\r\n")
        let (names, _) = try await load(server.url("/d;type=d"))
        #expect(String(decoding: names, as: UTF8.self) == "b c.json\r\ne\r\n")
    }

    // MISC-17, ERR-8
    @Test("a directory without its slash") func aDirectoryWithoutItsSlash() async throws {
        let server = try server()
        defer { server.stop() }
        let error = await #expect(throws: URLError.self) { try await load(server.url("/d")) }
        #expect(error?.code == .fileIsDirectory)
    }

    // MISC-17: RFC 2428
    @Test("IPv6") func ipv6() async throws {
        let server = try server { $0.addresses = [.ipv6] }
        defer { server.stop() }
        let (data, _) = try await load(server.url("/d/e/f.bin", host: "[::1]"))
        #expect(data == Data([UInt8].pattern(count: 3_000_000)))
    }

    // MISC-17, CONN-9: a name with addresses of both families
    @Test("a name") func aName() async throws {
        let server = try server()
        defer { server.stop() }
        let (data, _) = try await load(server.url("/a.txt", host: "localhost"))
        #expect(data == Data("hello".utf8))
    }

    // MISC-17: an old server, and one with a foreign address in its reply
    @Test("PASV", arguments: ["127,0,0,1", "10,255,255,1", "0,0,0,0"])
    func pasv(address: String) async throws {
        let server = try server {
            $0.passiveAddress = address
            $0.scriptedReply = { $0.verb == "EPSV" ? .line("500 no") : nil }
        }
        defer { server.stop() }
        let (data, _) = try await load(server.url("/a.txt"))
        #expect(data == Data("hello".utf8))
        #expect(server.commands.contains("PASV"))
    }

    // T-27, T-65, S-70, MISC-17
    @Test("a large file, by each kind of task") func aLargeFile() async throws {
        let server = try server()
        defer { server.stop() }
        let content = Data([UInt8].pattern(count: 3_000_000))
        let url = server.url("/d/e/f.bin")
        let session = URLSession { _ in }
        defer { session.finishTasksAndInvalidate() }
        let (whole, response) = try await session.data(from: url)
        #expect(whole == content)
        #expect(response.expectedContentLength == 3_000_000)
        let (file, _) = try await session.download(from: url)
        #expect(try Data(contentsOf: file) == content)
        try FileManager.default.removeItem(at: file)
        let (bytes, _) = try await session.bytes(from: url)
        var collected: [UInt8] = []
        for try await byte in bytes { collected.append(byte) }
        #expect(Data(collected) == content)
        let handled = Watched<Data?>(nil)
        let ended = Signal("the handler")
        session.dataTask(with: url) { data, _, _ in
            handled.withValue { $0 = data }
            ended.fire()
        }.resume()
        try await ended.wait()
        #expect(handled.current == content)
        let delegate = RecordingDownloadDelegate()
        let delegated = URLSession(delegate)
        delegated.downloadTask(with: url).resume()
        delegated.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .wrote(1, 3_000_000, 3_000_000), .downloaded(1, 3_000_000), .metrics(1),
                .completed(1, nil), .invalid,
            ])
        #expect(delegate.contents.events == [content])
    }

    // T-44, MISC-17
    @Test("a data task that becomes a download") func aDataTaskThatBecomesADownload() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        delegate.answer = { $1(.becomeDownload) }
        let session = URLSession(delegate)
        session.dataTask(with: server.url("/d/e/f.bin")).resume()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(delegate.contents.events == [Data([UInt8].pattern(count: 3_000_000))])
    }

    // T-65, law 4
    @Test("a delegate that blocks") func aDelegateThatBlocks() async throws {
        let size = 60_000_000
        let server = try server { $0.files = ["/large": [UInt8](repeating: 7, count: size)] }
        defer { server.stop() }
        let goOn = Signal("going on")
        let delegate = CountingDelegate()
        delegate.during = { _, _ in try? goOn.wait() }
        let session = URLSession(delegate, queue: OperationQueue(name: "delegate", width: 1))
        session.dataTask(with: server.url("/large")).resume()
        session.finishTasksAndInvalidate()
        let accepted = try await server.dataConnection(0).waitUntilBlocked()
        #expect(accepted < 12_000_000)
        goOn.fire()
        try await delegate.ended.wait()
        #expect(delegate.received.current == size)
        #expect(delegate.error.current == nil)
    }

    // T-2, T-65
    @Test("a task that is suspended") func aTaskThatIsSuspended() async throws {
        let size = 60_000_000
        let server = try server { $0.files = ["/large": [UInt8](repeating: 7, count: size)] }
        defer { server.stop() }
        let delegate = CountingDelegate()
        let isFirst = Watched(true)
        delegate.during = { _, task in
            let first = isFirst.withValue { first in
                defer { first = false }
                return first
            }
            if first { task.suspend() }
        }
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url("/large"))
        task.resume()
        session.finishTasksAndInvalidate()
        let accepted = try await server.dataConnection(0).waitUntilBlocked()
        #expect(accepted < 12_000_000)
        task.resume()
        try await delegate.ended.wait()
        #expect(delegate.received.current == size)
    }

    // MET-3, MET-5, MET-16
    @Test("metrics") func metrics() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        session.dataTask(with: server.url("/a.txt")).resume()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        let transactions = try #require(delegate.metrics.events.first?.transactionMetrics)
        let transaction = try #require(transactions.first)
        #expect(transactions.count == 1)
        #expect(transaction.networkProtocolName == "ftp")
        #expect(transaction.remotePort == server.port)
        #expect(transaction.remoteAddress == "127.0.0.1")
        #expect(!transaction.isReusedConnection)
        #expect(transaction.countOfResponseBodyBytesReceived == 5)
        let dates = [
            transaction.fetchStartDate, transaction.connectStartDate, transaction.connectEndDate,
            transaction.requestStartDate, transaction.responseStartDate, transaction.responseEndDate,
        ].compactMap { $0 }
        #expect(dates.count == 6)
        #expect(dates == dates.sorted())
    }
}
