import Foundation
import TestSupport
import Testing
import URLLoading

/// HTTP/3 servers that become silent during responses, permanently or temporarily, and clients whose packets are lost.
@Suite(.needsHTTP3, .needs(.caddy), .timeLimit(.minutes(2))) struct HTTP3CrashTests {
    private static let count = 16

    /// A server whose responses stall until the test releases them.
    private func origin(_ goesOn: Signal) throws -> ScriptedServer {
        var options = ScriptedServer.Options()
        // The silence is longer than a script usually waits.
        options.deadline = .seconds(60)
        return try ScriptedServer(options) { connection in
            do {
                _ = try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nbeg")
                try connection.wait(for: goesOn)
                try connection.send("un!")
                try connection.waitForClose()
            } catch  where connection.record.end != nil {
                return
            }
        }
    }

    private func caddy(before origin: ScriptedServer) throws -> CaddyServer {
        try CaddyServer(
            files: [:], authority: try TrustedAuthority.authority, protocols: ["h3"],
            routes: """
                { "handle": [{
                    "handler": "reverse_proxy", "flush_interval": -1,
                    "upstreams": [{ "dial": "127.0.0.1:\(origin.port)" }]
                }] },
                """)
    }

    /// Loads until each has the beginning of a response; then their outcomes, and how long that took.
    private func load(
        from server: CaddyServer, then happen: () async throws -> Void
    ) async throws -> (ends: [String], seconds: Double) {
        let session = Self.waitingSession()
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: server.secureURL("/"))
        request.assumesHTTP3Capable = true
        let begun = EventRecorder<Int>()
        return try await withThrowingTaskGroup(of: String.self) { [request] group in
            for number in 0..<Self.count {
                group.addTask {
                    do {
                        let (bytes, _) = try await session.bytes(for: request)
                        var text: [UInt8] = []
                        for try await byte in bytes {
                            if text.isEmpty { begun.record(number) }
                            text.append(byte)
                        }
                        return String(decoding: text, as: UTF8.self)
                    } catch let error as URLError {
                        return "\(error.errorCode)"
                    }
                }
            }
            _ = try await begun.waitFor(count: Self.count)
            let start = ContinuousClock.now
            try await happen()
            let ends = try await group.reduce(into: []) { $0.append($1) }
            return (ends, (ContinuousClock.now - start) / .seconds(1))
        }
    }

    // CONN-10: not only the answer shows that a server is alive, but whatever comes from it
    @Test("a PING is lost, and the response goes on") func lostPing() async throws {
        let isSilent = Signal("the silence before the PING")
        var options = ScriptedServer.Options()
        options.deadline = .seconds(60)
        let origin = try ScriptedServer(options) { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n")
            try connection.send("b")
            try connection.wait(for: isSilent)
            // The client has sent its PING after that, and at the end the time for the answer is over.
            sleep(2)
            for _ in 0..<14 {
                sleep(1)
                try connection.send(".")
            }
            try connection.waitForClose()
        }
        defer { origin.stop() }
        let server = try caddy(before: origin)
        defer { server.stop() }
        let relay = try DatagramRelay(to: try #require(server.secureURL("/").port))
        defer { relay.stop() }
        relay.release()
        let session = Self.waitingSession()
        defer { session.invalidateAndCancel() }
        let (bytes, _) = try await session.bytes(for: try Self.request(relay))
        var text: [UInt8] = []
        for try await byte in bytes {
            text.append(byte)
            if text.count == 1 {
                // The server has its acknowledgements, and the client sends its PING after three seconds.
                try await Task.sleep(for: .seconds(2))
                relay.hold()
                isSilent.fire()
            }
            if text.count == 14 { relay.release() }
        }
        #expect(String(decoding: text, as: UTF8.self) == "b..............")
        #expect(relay.clientCount == 1)
    }

    // CONN-10: an answer that is not authenticated does not show that the server is alive
    @Test("a server that crashed, and another that does not know the connection") func statelessResets() async throws {
        let never = Signal("what never comes")
        let origin = try origin(never)
        let server = try caddy(before: origin)
        let relay = try DatagramRelay(to: try #require(server.secureURL("/").port))
        defer {
            never.fire()
            relay.stop()
            server.stop()
            origin.stop()
        }
        relay.release()
        let session = Self.waitingSession()
        defer { session.invalidateAndCancel() }
        let (bytes, _) = try await session.bytes(for: try Self.request(relay))
        var iterator = bytes.makeAsyncIterator()
        _ = try await iterator.next()
        let start = ContinuousClock.now
        relay.forge()
        let error = await #expect(throws: URLError.self) { while try await iterator.next() != nil {} }
        #expect(error?.code == .networkConnectionLost)
        #expect((10..<20).contains((ContinuousClock.now - start) / .seconds(1)))
    }

    private static func waitingSession() -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 60
        return URLSession(configuration: configuration)
    }

    private static func request(_ relay: DatagramRelay) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://localhost:\(relay.port)/")))
        request.assumesHTTP3Capable = true
        return request
    }

    // CONN-10, CONN-15: a crash is found out three and ten seconds later, and a server that is slow is waited for
    @Test("a server that crashed in mid-body, and one that is slow") func crashAndSilence() async throws {
        let mayGoOn = Signal("the end of the silence")
        let never = Signal("what never comes")
        let (slowOrigin, lostOrigin) = (try origin(mayGoOn), try origin(never))
        let (slow, lost) = (try caddy(before: slowOrigin), try caddy(before: lostOrigin))
        defer {
            never.fire()
            for server in [slow, lost] { server.stop() }
            for origin in [slowOrigin, lostOrigin] { origin.stop() }
        }
        async let waiting = load(from: slow) {
            // Longer than a crash takes to be found out.
            try await Task.sleep(for: .seconds(17))
            mayGoOn.fire()
        }
        let crash = try await load(from: lost) { try lost.restart(.abrupt) }
        #expect(crash.ends == [String](repeating: "-1005", count: Self.count))
        #expect((10..<20).contains(crash.seconds))
        #expect(try await waiting.ends == [String](repeating: "begun!", count: Self.count))
    }
}
