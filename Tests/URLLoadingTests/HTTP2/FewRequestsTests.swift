import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// Servers that accept few requests per HTTP/2 connection, and report the processed ones (GOAWAY, REFUSED_STREAM).
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct FewRequestsTests {
    private typealias FrameType = HTTP2ServerConnection.FrameType

    /// The streams of one connection, and the answered ones.
    private struct Connection: Equatable {
        var requests = 0
        var answers = 0
    }

    private struct Server {
        let scripted: ScriptedServer
        let connections: Watched<[Int: Connection]>

        /// - Parameters:
        ///   - refusesEach: Every nth request on a connection is refused, and the connection continues.
        ///   - limit: The number of requests that a connection accepts, by its index; nil for no limit.
        init(refusesEach: Int = .max, limit: @escaping @Sendable (Int) -> Int? = { _ in nil }) throws {
            let connections = Watched<[Int: Connection]>([:])
            self.connections = connections
            let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }
            scripted = try ScriptedServer(tls: tls) { connection in
                do {
                    let http2 = try HTTP2ServerConnection(connection)
                    while true {
                        let frame = try http2.readFrame(FrameType.headers)
                        let index = connection.index
                        let count = connections.withValue { all in
                            all[index, default: Connection()].requests += 1
                            return all[index]?.requests ?? 0
                        }
                        let most = limit(index) ?? .max
                        if count > most { continue }
                        if count % refusesEach == 0 {
                            try http2.reset(frame.stream, 7)
                            continue
                        }
                        if count == most { try http2.goAway(lastStream: frame.stream) }
                        connections.withValue { $0[index, default: Connection()].answers += 1 }
                        try http2.respond(on: frame.stream, body: "x")
                    }
                } catch  where connection.record.end != nil {
                    return
                }
            }
        }

        var all: [Connection] { connections.current.sorted { $0.key < $1.key }.map(\.value) }
    }

    private func load(_ count: Int, _ method: String, _ server: Server) async throws {
        let session = URLSession { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: server.scripted.url("/", host: "localhost"))
        request.httpMethod = method
        if method == "POST" { request.httpBody = Data("body".utf8) }
        try await withThrowingTaskGroup(of: Void.self) { [request] group in
            for _ in 0..<count { group.addTask { _ = try await session.data(for: request) } }
            try await group.waitForAll()
        }
    }

    // CONN-4: however many connections it takes; and no more is asked of the next than the one before has taken
    @Test("few on each connection", arguments: [1, 5], ["GET", "POST"]) func few(limit: Int, method: String)
        async throws
    {
        let server = try Server { _ in limit }
        defer { server.scripted.stop() }
        try await load(60, method, server)
        let all = server.all
        #expect(all.map(\.answers) == [Int](repeating: limit, count: 60 / limit))
        #expect(all.dropFirst().map(\.requests) == [Int](repeating: limit, count: 60 / limit - 1))
    }

    // CONN-4: a server that is restarted takes few for once
    @Test("few on one connection", arguments: ["GET", "POST"]) func once(method: String) async throws {
        let server = try Server { $0 == 0 ? 3 : nil }
        defer { server.scripted.stop() }
        try await load(60, method, server)
        #expect(server.all.map(\.answers) == [3, 57])
    }

    // CONN-4: retries end if no request is ever answered, whatever GOAWAY claims
    @Test("GOAWAY after refused streams", arguments: ["GET", "POST"])
    func refusedAfterGOAWAY(method: String) async throws {
        let count = Watched(0)
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }
        let server = try ScriptedServer(tls: tls) { connection in
            do {
                let http2 = try HTTP2ServerConnection(connection)
                while true {
                    let frame = try http2.readFrame(FrameType.headers)
                    count.withValue { $0 += 1 }
                    try http2.goAway(lastStream: frame.stream)
                    try http2.reset(frame.stream, 7)
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let session = URLSession {
            $0.urlCache = nil
            $0.loop = stepped.loop
        }
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: server.url("/", host: "localhost"))
        request.httpMethod = method
        let error = await #expect(throws: URLError.self) {
            try await stepped.skippingPauses(within: stepped.limits.longestRetryPause) { [request] in
                _ = try await session.data(for: request)
            }
        }
        #expect(error?.code == .networkConnectionLost)
        #expect(count.current == 10)
    }

    // CONN-4: those that it refuses while it answers others go again, and the connection is kept
    @Test("a server that refuses every second request", arguments: ["GET", "POST"])
    func refused(method: String) async throws {
        let server = try Server(refusesEach: 2)
        defer { server.scripted.stop() }
        try await load(60, method, server)
        #expect(server.all.map(\.answers) == [60])
    }

    // CONN-4, C-6: a refused request is no activity, and is sent ever less often
    @Test("a server that refuses each POST and answers each GET") func onlyPostsAreRefused() async throws {
        let posts = Watched(0)
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }
        let server = try ScriptedServer(tls: tls) { connection in
            do {
                let http2 = try HTTP2ServerConnection(connection)
                while true {
                    let frame = try http2.readFrame(FrameType.headers)
                    // END_STREAM: a GET has no body.
                    if frame.flags & 1 == 1 {
                        try http2.respond(on: frame.stream, body: "x")
                    } else {
                        posts.withValue { $0 += 1 }
                        try http2.reset(frame.stream, 7)
                    }
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
        defer { server.stop() }
        let session = URLSession { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        let url = server.url("/", host: "localhost")
        let hasEnded = Watched(false)
        let reading = Task {
            while !hasEnded.current { _ = try await session.data(from: url) }
        }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data("body".utf8)
        request.timeoutInterval = 1
        var error: URLError?
        do { _ = try await session.data(for: request) } catch let thrown as URLError { error = thrown }
        hasEnded.withValue { $0 = true }
        try await reading.value
        #expect(error?.code == .timedOut)
        #expect((2...30).contains(posts.current))
    }
}
