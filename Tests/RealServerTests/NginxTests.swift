import Foundation
import TestSupport
import Testing
import URLLoading

/// Loads from nginx.
@Suite(.needs(.nginx)) struct NginxTests {
    private func using<Result>(_ body: (URLSession) async throws -> Result) async throws -> Result {
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        return try await body(session)
    }

    private func response(_ response: URLResponse) throws -> HTTPURLResponse {
        try #require(response as? HTTPURLResponse)
    }

    // CONN-1, T-16
    @Test("a file, its head, and one that is not there") func aFileItsHeadAndOneThatIsNotThere() async throws {
        let server = try NginxServer(files: ["hello.txt": Array("hello".utf8)])
        defer { server.stop() }
        try await using { session in
            let (data, got) = try await session.data(from: server.url("/hello.txt"))
            #expect(data == Data("hello".utf8))
            #expect(try response(got).statusCode == 200)
            #expect(try response(got).expectedContentLength == 5)
            #expect(try response(got).value(forHTTPHeaderField: "content-type") == "text/plain")

            var head = URLRequest(url: server.url("/hello.txt"))
            head.httpMethod = "HEAD"
            let (none, headed) = try await session.data(for: head)
            #expect(none.isEmpty)
            #expect(try response(headed).expectedContentLength == 5)

            let (page, missing) = try await session.data(from: server.url("/missing"))
            #expect(try response(missing).statusCode == 404)
            #expect(String(decoding: page, as: UTF8.self).contains("404 Not Found"))
        }
        server.stop()
        let log = server.log.filter { !$0.line.contains("/status/204") }
        #expect(log.map(\.line) == ["GET /hello.txt HTTP/1.1", "HEAD /hello.txt HTTP/1.1", "GET /missing HTTP/1.1"])
        #expect(log.map(\.requestOnConnection) == [1, 2, 3])
    }

    // MISC-26, T-19: RFC 9218; not over HTTP/1.1
    @Test("how urgent a request is", arguments: [true, false]) func priority(isHTTP2: Bool) async throws {
        let authority = try TrustedAuthority.authority
        var options = NginxServer.Options()
        options.offersHTTP2 = isHTTP2
        options.directives = "location = /priority { return 200 \"-$http_priority\"; }"
        let server = try NginxServer(authority: authority, options: options)
        defer { server.stop() }
        try await using { session in
            var said: [String] = []
            for priority in [
                URLSessionTask.highPriority, URLSessionTask.defaultPriority, URLSessionTask.lowPriority,
            ] {
                said.append(
                    try await withCheckedThrowingContinuation { continuation in
                        let task = session.dataTask(with: server.secureURL("/priority")) { data, _, error in
                            continuation.resume(
                                with: error.map { .failure($0) }
                                    ?? .success(String(decoding: data ?? Data(), as: UTF8.self)))
                        }
                        task.priority = priority
                        task.resume()
                    })
            }
            #expect(said == (isHTTP2 ? ["-u=1", "-", "-u=5"] : ["-", "-", "-"]))
        }
    }

    // CONN-26
    @Test("statuses", arguments: [200, 204, 304, 400, 404, 500, 503, 599])
    func statuses(status: Int) async throws {
        let server = try NginxServer()
        defer { server.stop() }
        try await using { session in
            let (_, got) = try await session.data(from: server.url("/status/\(status)"))
            #expect(try response(got).statusCode == status)
        }
    }

    // MISC-6: a range is the caller's own affair
    @Test("a range") func aRange() async throws {
        let server = try NginxServer(files: ["digits": Array("0123456789".utf8)])
        defer { server.stop() }
        try await using { session in
            var request = URLRequest(url: server.url("/digits"))
            request.setValue("bytes=2-4", forHTTPHeaderField: "Range")
            let (data, got) = try await session.data(for: request)
            #expect(data == Data("234".utf8))
            #expect(try response(got).statusCode == 206)
            #expect(try response(got).value(forHTTPHeaderField: "Content-Range") == "bytes 2-4/10")
        }
    }

    // ENC-1, ENC-3, ENC-6
    @Test("a compressed file") func aCompressedFile() async throws {
        let text = Array(String(repeating: "hello ", count: 100_000).utf8)
        let server = try NginxServer(files: ["text.txt": text])
        defer { server.stop() }
        try await using { session in
            let (data, got) = try await session.data(from: server.url("/gzip/text.txt"))
            #expect(data == Data(text))
            #expect(try response(got).value(forHTTPHeaderField: "Content-Encoding") == "gzip")
            #expect(try response(got).expectedContentLength == -1)
        }
        server.stop()
        #expect(server.log.last?.bodyBytesSent ?? .max < 10_000)
    }

    // CONN-22
    @Test("a large file arrives as it is", .timeLimit(.minutes(2)), arguments: [1 << 20, 64 << 20])
    func aLargeFileArrivesAsItIs(length: Int) async throws {
        let bytes = [UInt8].pattern(count: length)
        let server = try NginxServer(files: ["large": bytes])
        defer { server.stop() }
        try await using { session in
            let (data, _) = try await session.data(from: server.url("/large"))
            // Compared at once: a difference need not be printed.
            #expect(data.count == length)
            #expect((data == Data(bytes)) as Bool)
        }
    }

    // MISC-5, CONN-23
    @Test("uploads of data and of a stream") func uploadsOfDataAndOfAStream() async throws {
        let server = try NginxServer()
        defer { server.stop() }
        try await using { session async throws in
            var request = URLRequest(url: server.url("/upload"))
            request.httpMethod = "PUT"
            request.httpBody = Data([UInt8].pattern(count: 1 << 20))
            #expect(try await response(session.data(for: request).1).statusCode == 200)
            request.httpBodyStream = InputStream(data: Data([UInt8].pattern(count: 1 << 20)))
            #expect(try await response(session.data(for: request).1).statusCode == 200)
        }
    }

    // S-32, T-15, T-53: nginx writes the bodies of PUT to files
    @Test("files that nginx keeps", .timeLimit(.minutes(2)), arguments: [0, 5, 8 << 20], [true, false])
    func filesThatNginxKeeps(length: Int, isSecure: Bool) async throws {
        let authority = try TrustedAuthority.authority
        var options = NginxServer.Options()
        options.directives = "location /put/ { root kept; dav_methods PUT; create_full_put_path on; }"
        let server = try NginxServer(authority: authority, options: options)
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let bytes = [UInt8].pattern(count: length)
        let file = try directory.write(bytes, to: "body")
        let streams = StreamDelegate(file)
        try await using { session async throws in
            func request(_ name: String) -> URLRequest {
                var request = URLRequest(
                    url: isSecure ? server.secureURL("/put/\(name)") : server.url("/put/\(name)"))
                request.httpMethod = "PUT"
                return request
            }
            #expect(
                try await response(session.upload(for: request("file"), fromFile: file).1).statusCode == 201)
            #expect(
                try await response(session.upload(for: request("data"), from: Data(bytes)).1).statusCode == 201)
            let task = session.uploadTask(withStreamedRequest: request("stream"))
            task.delegate = streams
            task.resume()
            #expect(try await streams.ended.waitFor(count: 1) == [201])
        }
        for name in ["file", "data", "stream"] {
            let kept = try server.kept("put/\(name)")
            #expect((kept == Data(bytes)) as Bool)
        }
    }

    // CONN-1, CONN-10: the server closes connections after some requests, without an error
    @Test("a server that limits the requests of a connection") func aServerThatLimitsTheRequestsOfAConnection()
        async throws
    {
        var options = NginxServer.Options()
        options.keepAliveRequests = 3
        let server = try NginxServer(files: ["x": Array("x".utf8)], options: options)
        defer { server.stop() }
        try await using { session async throws in
            for _ in 0..<10 {
                #expect(try await session.data(from: server.url("/x")).0 == Data("x".utf8))
            }
        }
        server.stop()
        #expect(
            server.log.filter { $0.line == "GET /x HTTP/1.1" }.map(\.requestOnConnection)
                == [1, 2, 3, 1, 2, 3, 1, 2, 3, 1])
    }

    // CONN-1
    @Test("a server that closes after each response") func aServerThatClosesAfterEachResponse() async throws {
        let server = try NginxServer(files: ["x": Array("x".utf8)])
        defer { server.stop() }
        try await using { session async throws in
            for _ in 0..<3 {
                #expect(try await session.data(from: server.url("/closing/x")).0 == Data("x".utf8))
            }
        }
        server.stop()
        #expect(server.log.filter { $0.line == "GET /closing/x HTTP/1.1" }.map(\.requestOnConnection) == [1, 1, 1])
    }

    // CONN-19: the server says how long it keeps an idle connection, and keeps it
    @Test("a server that closes idle connections") func aServerThatClosesIdleConnections() async throws {
        var options = NginxServer.Options()
        options.keepAliveTimeout = 1
        let server = try NginxServer(files: ["x": Array("x".utf8)], options: options)
        defer { server.stop() }
        try await using { session in
            #expect(try await session.data(from: server.url("/x")).0 == Data("x".utf8))
            try await eventually { !Loopback.hasConnection(to: server.port) }
            #expect(try await session.data(from: server.url("/x")).0 == Data("x".utf8))
        }
        server.stop()
        #expect(server.log.filter { $0.line == "GET /x HTTP/1.1" }.map(\.requestOnConnection) == [1, 1])
    }

    // CONN-1
    @Test("many loads at once") func manyLoadsAtOnce() async throws {
        let bytes = [UInt8].pattern(count: 100_000)
        let server = try NginxServer(files: ["x": bytes])
        defer { server.stop() }
        try await using { session in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<200 {
                    group.addTask { try await session.data(from: server.url("/x")).0.elementsEqual(bytes) }
                }
                for try await isWhole in group { #expect(isWhole) }
            }
        }
        server.stop()
        #expect(Set(server.log.filter { $0.line == "GET /x HTTP/1.1" }.map(\.connection)).count == 6)
    }

    // ERR-5, CONN-10: loads fail while the server is stopped, and succeed after its restart
    @Test("a server that stops") func aServerThatStops() async throws {
        let server = try NginxServer(files: ["x": Array("x".utf8)])
        try await using { session async throws in
            #expect(try await session.data(from: server.url("/x")).0 == Data("x".utf8))
            server.stop()
            let error = await #expect(throws: URLError.self) { _ = try await session.data(from: server.url("/x")) }
            #expect(error?.code == .cannotConnectToHost)
        }
    }

    // CONN-10: a restart closes idle connections, without an error
    @Test("a server that restarts between two loads") func aServerThatRestartsBetweenTwoLoads() async throws {
        let server = try NginxServer(files: ["x": Array("x".utf8)])
        defer { server.stop() }
        try await using { session async throws in
            for _ in 0..<5 {
                #expect(try await session.data(from: server.url("/x")).0 == Data("x".utf8))
                // New workers take over, and the old ones close what is idle.
                kill(server.processID, SIGHUP)
            }
        }
    }

    // TLS-4, TLS-8, CONN-1: a connection is kept, and a session resumed by the next
    @Test("loads over https") func loadsOverHttps() async throws {
        var options = NginxServer.Options()
        options.offersHTTP2 = false
        let bytes = [UInt8].pattern(count: 1 << 20)
        let server = try NginxServer(
            files: ["large": bytes, "x": Array("x".utf8)], authority: try TrustedAuthority.authority, options: options)
        defer { server.stop() }
        try await using { session async throws in
            #expect(try await session.data(from: server.secureURL("/large")).0.elementsEqual(bytes) as Bool)
            #expect(try await session.data(from: server.secureURL("/gzip/large")).0.elementsEqual(bytes) as Bool)
            for _ in 0..<3 {
                #expect(try await session.data(from: server.secureURL("/closing/x")).0 == Data("x".utf8))
            }
        }
        server.stop()
        #expect(
            server.log.filter { $0.line.hasPrefix("GET") && !$0.line.contains("/status/") }.map(\.requestOnConnection)
                == [1, 2, 3, 1, 1])
    }

    // TLS-5
    @Test("nginx with a certificate of an unknown root") func nginxWithACertificateOfAnUnknownRoot() async throws {
        _ = try TrustedAuthority.authority
        let server = try NginxServer()
        defer { server.stop() }
        try await using { session in
            let error = await #expect(throws: URLError.self) {
                _ = try await session.data(from: server.secureURL("/status/200"))
            }
            #expect(error?.code == .serverCertificateHasUnknownRoot)
        }
    }
}

/// Streams a file, and returns the status of the response.
private final class StreamDelegate: NSObject, URLSessionDataDelegate {
    let ended = EventRecorder<Int>()
    private let file: URL

    init(_ file: URL) { self.file = file }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(InputStream(url: file))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        ended.record((task.response as? HTTPURLResponse)?.statusCode ?? 0)
    }
}
