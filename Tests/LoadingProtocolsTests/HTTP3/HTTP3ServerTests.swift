import LoadingProtocols
import LoadingSemantics
import TestSupport
import Testing

/// The session against a server that others wrote, over sockets.
@Suite("HTTP/3 with a server", .needsHTTP3, .needs(.gtlsserver), .serialized)
struct HTTP3ServerTests {
    private let authority: TestCertificateAuthority
    private static let large = [UInt8].pattern(count: 64 << 20)

    init() throws {
        authority = try TestCertificateAuthority()
    }

    private func server(_ files: [String: [UInt8]] = [:], _ options: [String] = []) throws -> GtlsServer {
        try GtlsServer(files: files, authority: authority, options: options)
    }

    // MARK: Loads

    @Test("a small file, and one that is not there")
    func small() throws {
        let server = try server(["hello.txt": Array("hello".utf8)])
        defer { server.stop() }
        let connection = try HTTP3Connection(to: server.port)
        try connection.runUntilComplete()
        #expect(connection.chains.count == 1)
        #expect(connection.chains.first?.isEmpty == false)
        let load = try connection.load("/hello.txt")
        #expect(load.head?.status == 200)
        #expect(load.body == Array("hello".utf8))
        #expect(load.failure == nil && load.hasEnded && load.isSent && load.sentHead > 0)
        let missing = try connection.load("/missing")
        #expect(missing.head?.status == 404)
        connection.close()
    }

    @Test("64 MiB arrive whole")
    func download() throws {
        let server = try server(["large": Self.large])
        defer { server.stop() }
        let connection = try HTTP3Connection(to: server.port)
        try connection.runUntilComplete()
        let load = try connection.load("/large")
        #expect(load.failure == nil)
        #expect(load.body == Self.large)
        connection.close()
    }

    // CONN-22
    @Test("a reader that pauses has a window before it, and no more")
    func slowReader() throws {
        let server = try server(["large": Self.large])
        defer { server.stop() }
        let windows = StreamWindowSizes(initialStream: 256 << 10, maximumStream: 1 << 20)
        let connection = try HTTP3Connection(
            to: server.port, configuration: HTTP3Configuration(windows: windows))
        try connection.runUntilComplete()
        let stream = try connection.submit("/large", keepsBody: false)
        connection.loads[stream]?.isPaused = true
        var resting = 0
        while connection.loads[stream]?.isClosed != true {
            // As much as comes until nothing does for a while, then all of it is taken.
            let before = connection.loads[stream]?.byteCount ?? 0
            let unread = connection.loads[stream]?.unread ?? 0
            if connection.loads[stream]?.hasEnded == true || unread >= 128 << 10 {
                if resting < 5 {
                    resting += 1
                    let end = HTTP3Connection.now + 30_000_000
                    try connection.run(until: { _ in HTTP3Connection.now >= end })
                }
                let unread = connection.loads[stream]?.unread ?? 0
                connection.loads[stream]?.unread = 0
                connection.session.consumed(unread, on: stream)
            }
            try connection.run(until: { connection in
                connection.loads[stream]?.isClosed == true || connection.loads[stream]?.hasEnded == true
                    || (connection.loads[stream]?.byteCount ?? 0) - before >= 64 << 10
            })
            if connection.loads[stream]?.hasEnded == true {
                connection.session.consumed(connection.loads[stream]?.unread ?? 0, on: stream)
                try connection.run(until: { $0.loads[stream]?.isClosed == true })
            }
        }
        #expect(connection.loads[stream]?.failure == nil)
        #expect(connection.loads[stream]?.byteCount == Self.large.count)
        #expect(connection.largestUnread <= 1 << 20)
        #expect(connection.largestUnread >= 128 << 10)
        connection.close()
    }

    @Test("64 MiB are posted whole")
    func upload() throws {
        let server = try server()
        defer { server.stop() }
        let connection = try HTTP3Connection(to: server.port)
        try connection.runUntilComplete()
        let load = try connection.load("/", method: "POST", upload: Self.large)
        #expect(load.failure == nil && load.head != nil && load.isSent)
        #expect(load.sentBody == Self.large.count)
        connection.close()
    }

    @Test("a hundred requests at a time, and again")
    func many() throws {
        let server = try server(["hello.txt": Array("hello".utf8)])
        defer { server.stop() }
        let connection = try HTTP3Connection(to: server.port)
        try connection.runUntilComplete()
        for _ in 0..<3 {
            try connection.run(until: { $0.session.maximumConcurrentStreams >= 100 })
            for _ in 0..<100 { try connection.submit("/hello.txt") }
            try connection.run(until: { $0.loads.values.allSatisfy(\.isClosed) })
            #expect(connection.loads.count == 100)
            #expect(connection.loads.values.allSatisfy { $0.body == Array("hello".utf8) && $0.failure == nil })
            connection.loads = [:]
        }
        connection.close()
    }

    @Test("more than the server allows at a time is not taken")
    func limit() throws {
        let server = try server([:], ["--max-streams-bidi=3"])
        defer { server.stop() }
        let connection = try HTTP3Connection(to: server.port)
        try connection.runUntilComplete()
        #expect(connection.session.maximumConcurrentStreams == 3)
        for _ in 0..<3 { try connection.submit() }
        #expect(!connection.session.mayOpenStream)
        #expect(throws: HTTPStreamRequestError.notAllowed) { try connection.submit() }
        try connection.run(until: { $0.loads.values.allSatisfy(\.isClosed) && $0.session.mayOpenStream })
        connection.close()
    }

    // CONN-22
    @Test("loads that are cancelled in mid-body leave the connection its window")
    func cancel() throws {
        let server = try server(["large": Self.large])
        defer { server.stop() }
        let windows = StreamWindowSizes(initialStream: 1 << 20, maximumStream: 1 << 20, connection: 2 << 20)
        let connection = try HTTP3Connection(
            to: server.port, configuration: HTTP3Configuration(windows: windows))
        try connection.runUntilComplete()
        connection.reaction = { connection, stream in
            if connection.loads[stream]?.byteCount ?? 0 > 300_000 { connection.session.reset(stream) }
        }
        for round in 0..<30 {
            let stream = try connection.submit("/large", keepsBody: false)
            // Every other reader has consumed nothing by then.
            if round % 2 == 0 { connection.loads[stream]?.isPaused = true }
            try connection.run(until: { $0.loads[stream]?.isClosed == true })
            #expect(connection.loads[stream]?.failure == .cancelled)
            #expect(connection.loads[stream]?.byteCount ?? 0 < 2 << 20)
        }
        connection.reaction = nil
        let load = try connection.load("/large", keepsBody: false)
        #expect(load.byteCount == Self.large.count && load.failure == nil)
        connection.close()
    }

    @Test("a hundred loads cancelled at once leave the connection in order")
    func cancelMany() throws {
        let server = try server(["large": Self.large, "hello.txt": Array("hello".utf8)])
        defer { server.stop() }
        let connection = try HTTP3Connection(to: server.port)
        try connection.runUntilComplete()
        for _ in 0..<100 { try connection.submit("/large", keepsBody: false) }
        try connection.run(until: { $0.loads.values.contains { $0.byteCount > 0 } })
        for stream in connection.loads.keys { connection.session.reset(stream) }
        try connection.run(until: { $0.loads.values.allSatisfy(\.isClosed) })
        #expect(connection.session.openStreamCount == 0)
        connection.loads = [:]
        try connection.run(until: { $0.session.mayOpenStream })
        #expect(try connection.load("/hello.txt").body == Array("hello".utf8))
        connection.close()
    }

    // MARK: Handshakes

    @Test("a session is resumed, and takes early data")
    func earlyData() throws {
        let server = try server(["hello.txt": Array("hello".utf8)])
        defer { server.stop() }
        let first = try HTTP3Connection(to: server.port)
        try first.run(until: { !$0.resumptions.isEmpty })
        first.close()
        let resumption = try #require(first.resumptions.first)
        #expect(resumption.hasEarlyData && (1...604_800).contains(resumption.lifetime))
        #expect(!first.session.isResumed)

        let second = try HTTP3Connection(to: server.port, resumption: resumption)
        second.trustsAtOnce = false
        #expect(!second.session.mayOpenStream && second.session.mayOpenEarlyStream)
        #expect(throws: HTTPStreamRequestError.notAllowed) { try second.submit("/hello.txt") }
        let stream = try second.submit("/hello.txt", isEarly: true)
        try second.run(until: { $0.loads[stream]?.isClosed == true && $0.isComplete })
        #expect(second.loads[stream]?.body == Array("hello".utf8))
        // Nothing but early data may be sent before `trust()`, so the server has accepted it.
        #expect(second.session.isResumed)
        #expect(second.chains == first.chains)
        // It was early data; the next request waits for the word.
        #expect(second.session.needsTrust)
        #expect(throws: HTTPStreamRequestError.notAllowed) { try second.submit("/hello.txt", isEarly: true) }
        second.session.trust()
        #expect(try second.load("/hello.txt").body == Array("hello".utf8))
        second.close()
    }

    @Test("a session is resumed without early data")
    func resumption() throws {
        let server = try server(["hello.txt": Array("hello".utf8)])
        defer { server.stop() }
        let first = try HTTP3Connection(to: server.port)
        try first.run(until: { !$0.resumptions.isEmpty })
        first.close()
        let resumption = try #require(first.resumptions.first)
        #expect(resumption.hasEarlyData)
        let second = try HTTP3Connection(to: server.port, resumption: resumption, allowsEarlyData: false)
        #expect(!second.session.mayOpenEarlyStream)
        try second.runUntilComplete()
        #expect(second.session.isResumed)
        #expect(try second.load("/hello.txt").body == Array("hello".utf8))
        second.close()
    }

    @Test("early data that another server rejects is reported as refused, and can be sent again")
    func earlyDataRefused() throws {
        let first = try server()
        let before = try HTTP3Connection(to: first.port)
        try before.run(until: { !$0.resumptions.isEmpty })
        before.close()
        first.stop()
        // It does not know the key that the ticket was made with.
        let second = try server(["hello.txt": Array("hello".utf8)])
        defer { second.stop() }
        let connection = try HTTP3Connection(to: second.port, resumption: before.resumptions.first)
        let stream = try connection.submit("/hello.txt", isEarly: true)
        let posted = try connection.submit("/", method: "POST", upload: [1, 2, 3], isEarly: true)
        try connection.runUntilComplete()
        #expect(!connection.session.isResumed)
        #expect(connection.loads[stream]?.failure == .refused && connection.loads[posted]?.failure == .refused)
        #expect(connection.session.openStreamCount == 0)
        #expect(try connection.load("/hello.txt").body == Array("hello".utf8))
        connection.close()
    }

    @Test("no request is sent before the server is trusted")
    func lateTrust() throws {
        let server = try server(["hello.txt": Array("hello".utf8)])
        defer { server.stop() }
        let connection = try HTTP3Connection(to: server.port)
        connection.trustsAtOnce = false
        try connection.runUntilComplete()
        #expect(connection.session.needsTrust && !connection.session.mayOpenStream)
        #expect(throws: HTTPStreamRequestError.notAllowed) { try connection.submit("/hello.txt") }
        let end = HTTP3Connection.now + 300_000_000
        try connection.run(until: { _ in HTTP3Connection.now >= end })
        connection.session.trust()
        #expect(try connection.load("/hello.txt").body == Array("hello".utf8))
        connection.close()
    }

    @Test("a server that is not trusted gets an alert, and the session ends")
    func reject() throws {
        let server = try server()
        defer { server.stop() }
        let connection = try HTTP3Connection(to: server.port)
        connection.trustsAtOnce = false
        try connection.runUntilComplete()
        connection.session.reject(alert: 42)
        #expect(connection.session.wantsOutput)
        let words = try connection.session.nextOutput(at: HTTP3Connection.now)
        #expect(words?.bytes.isEmpty == false)
        #expect(try connection.session.nextOutput(at: HTTP3Connection.now) == nil)
        #expect(connection.session.isFinished && connection.session.deadline == nil)
        #expect(throws: HTTPStreamRequestError.notAllowed) { try connection.submit() }
        connection.session.fail()
    }

    @Test("a server that asks for the address to be validated first")
    func retry() throws {
        let server = try server(["hello.txt": Array("hello".utf8)], ["--validate-addr"])
        defer { server.stop() }
        let connection = try HTTP3Connection(to: server.port)
        try connection.runUntilComplete()
        #expect(try connection.load("/hello.txt").body == Array("hello".utf8))
        connection.close()
    }

    // MARK: Lives and ends

    @Test("keys change in mid-connection")
    func keyUpdate() throws {
        let server = try server(["large": Self.large])
        defer { server.stop() }
        let connection = try HTTP3Connection(to: server.port)
        try connection.runUntilComplete()
        let stream = try connection.submit("/large", keepsBody: false)
        var updates = 0
        var next = 4 << 20
        try connection.run(until: { connection in
            if connection.loads[stream]?.byteCount ?? 0 > next,
                connection.session.updateKeys(at: HTTP3Connection.now)
            {
                updates += 1
                next += 16 << 20
            }
            return connection.loads[stream]?.isClosed == true
        })
        #expect(updates >= 2)
        #expect(connection.loads[stream]?.byteCount == Self.large.count)
        connection.close()
    }

    @Test("one of ten datagrams is lost", arguments: [10, 7])
    func loss(_ loss: Int) throws {
        let content = Array(Self.large[..<(2 << 20)])
        let server = try server(["some": content])
        defer { server.stop() }
        let connection = try HTTP3Connection(to: server.port)
        connection.loss = loss
        try connection.runUntilComplete()
        let download = try connection.load("/some")
        #expect(download.body == content && download.failure == nil)
        let upload = try connection.load("/", method: "POST", upload: content)
        #expect(upload.failure == nil)
        #expect(upload.head != nil)
        #expect(upload.sentBody == content.count)
        connection.close()
    }

    @Test("a server that is gone is noticed after the idle timeout")
    func killed() throws {
        let server = try server(["large": Self.large])
        let connection = try HTTP3Connection(
            to: server.port,
            configuration: HTTP3Configuration(idleTimeout: 600_000_000, keepAliveInterval: 200_000_000))
        try connection.runUntilComplete()
        let stream = try connection.submit("/large", keepsBody: false)
        try connection.run(until: { $0.loads[stream]?.byteCount ?? 0 > 1 << 20 })
        server.kill()
        let start = HTTP3Connection.now
        try connection.run(until: { $0.error != nil })
        #expect(connection.error == .idleTimeout)
        #expect(connection.loads[stream]?.failure == .connectionLost(after: .answered))
        #expect(HTTP3Connection.now - start < 10_000_000_000)
    }

    @Test("a connection is kept alive while the decision about trust is pending")
    func keptAlive() throws {
        let server = try server(["hello.txt": Array("hello".utf8)], ["--timeout=1s"])
        defer { server.stop() }
        let connection = try HTTP3Connection(
            to: server.port, configuration: HTTP3Configuration(keepAliveInterval: 200_000_000))
        connection.trustsAtOnce = false
        try connection.runUntilComplete()
        let end = HTTP3Connection.now + 2_000_000_000
        try connection.run(until: { _ in HTTP3Connection.now >= end })
        connection.session.trust()
        #expect(try connection.load("/hello.txt").body == Array("hello".utf8))
        connection.close()
    }

    @Test("a ping is answered")
    func ping() throws {
        let server = try server()
        defer { server.stop() }
        let connection = try HTTP3Connection(to: server.port)
        try connection.runUntilComplete()
        let end = HTTP3Connection.now + 100_000_000
        try connection.run(until: { _ in HTTP3Connection.now >= end })
        #expect(connection.pingAnswers == 0)
        connection.session.ping()
        try connection.run(until: { $0.pingAnswers == 1 })
        connection.session.ping()
        try connection.run(until: { $0.pingAnswers == 2 })
        connection.close()
    }

    @Test("a server that ends has the connection end too")
    func serverEnds() throws {
        let server = try server()
        let connection = try HTTP3Connection(to: server.port)
        try connection.runUntilComplete()
        server.stop()
        try connection.run(until: { $0.error != nil })
        // It says that it ends, or is gone before it can.
        switch connection.error {
        case .closedByPeer, .idleTimeout: break
        default: Issue.record("\(String(describing: connection.error))")
        }
    }

    @Test("a session after GOAWAY takes no more requests, and is finished with its last")
    func goAway() throws {
        let server = try server(["large": Self.large])
        defer { server.stop() }
        let connection = try HTTP3Connection(to: server.port)
        try connection.runUntilComplete()
        let stream = try connection.submit("/large", keepsBody: false)
        connection.session.goAway()
        #expect(!connection.session.mayOpenStream && !connection.session.isFinished)
        try connection.run(until: { $0.loads[stream]?.isClosed == true })
        #expect(connection.loads[stream]?.byteCount == Self.large.count)
        connection.flush()
        #expect(connection.session.isFinished)
        connection.close()
    }

    @Test("a connection writes its events as qlog")
    func qlog() throws {
        let server = try server()
        defer { server.stop() }
        let text = Watched<[UInt8]>([])
        let isWhole = Watched(false)
        let configuration = HTTP3Configuration { piece, isLast in
            text.withValue { $0 += piece }
            if isLast { isWhole.withValue { $0 = true } }
        }
        do {
            let connection = try HTTP3Connection(to: server.port, configuration: configuration)
            try connection.runUntilComplete()
            connection.close()
        }
        #expect(isWhole.current)
        #expect(String(decoding: text.current, as: UTF8.self).contains("transport:packet_sent"))
    }
}
