import Foundation
import TestSupport
import Testing
import URLLoading

/// HTTP/2 servers that send endlessly, as long as the client reads.
@Suite(.leavesNothing) struct HostileFloodTests {
    /// The memory limit, including the server in this process: heads of 256 KiB, some copies, and buffers.
    private static let mostMemory = 8 << 20

    /// Returns the number of bytes sent when the client closed the connection.
    private func server(
        of flood: HostileFlood, readsNothing: Bool, ended: Watched<Int?>
    ) throws -> ScriptedServer {
        var options = ScriptedServer.Options()
        if readsNothing { options.receiveBufferSize = 4_096 }
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }
        return try ScriptedServer(options, tls: tls) { connection in
            let http2 = try HTTP2ServerConnection(connection)
            let stream = try http2.readRequest()
            guard connection.index == 0 else {
                try http2.respond(on: stream, body: "well")
                return _ = try connection.waitForClose()
            }
            var count = flood.opening.count
            defer { ended.withValue { $0 = count } }
            do {
                try connection.send(flood.opening)
                while count < flood.most {
                    try connection.send(flood.bytes)
                    count += flood.bytes.count
                }
            } catch  where connection.record.end == .reset {
                // That is how the client ends it.
            }
        }
    }

    private func load(_ flood: HostileFlood, readsNothing: Bool = false) async throws {
        let ended = Watched<Int?>(nil)
        let server = try server(of: flood, readsNothing: readsNothing, ended: ended)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.urlCache = nil }
        let url = server.url("/", host: "localhost")
        let memory = try MemoryWatch()
        let task = session.dataTask(with: url)
        task.resume()
        // First, because to wait for a call among ten thousand looks at all of them at each one.
        let count = try await ended.wait(for: "the end of the flood") { $0 }
        let recorded = try await delegate.calls(untilCompletions: 1)
        let growth = memory.growth()
        #expect(recorded.filter { $0.isAboutResponse && $0.kind != "informational" } == flood.recorded)
        #expect(growth < Memory.limit(Self.mostMemory), "\(growth) bytes")
        #expect(count < flood.most)
        let cause = (task.error as? URLError)?.userInfo[NSUnderlyingErrorKey] as? NSError
        let text = cause?.localizedDescription ?? ""
        #expect(flood.reason.isEmpty || text.contains(flood.reason), "\(text)")
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
        let all = try await delegate.callsUntilInvalid()
        #expect(all.of(2).filter(\.isAboutResponse) == [.response(2, 200), .data(2, "well"), .completed(2, nil)])
        #expect(all.of(1).completionCount == 1)
        #expect(server.connectionCount == 2)
        try await server.finish()
    }

    // ERR-7, CONN-22
    @Test("a flood ends the connection, with little memory", arguments: HostileFlood.all)
    func flood(flood: HostileFlood) async throws { try await load(flood) }

    // ERR-7: the answers are what there is no room for then
    @Test("a server that takes no answers", arguments: HostileFlood.asking)
    func unread(flood: HostileFlood) async throws { try await load(flood, readsNothing: true) }

    // CONN-22, T-65: a stream's window is a promise, and nothing is kept beyond it
    @Test("more than the window has room for") func window() async throws {
        let page = [UInt8](repeating: 0, count: 16_384)
        let isReset = Signal("a reset")
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }
        let server = try ScriptedServer(tls: tls) { connection in
            let http2 = try HTTP2ServerConnection(connection)
            let stream = try http2.readRequest()
            try http2.sendHead(on: stream)
            for _ in 0..<200 { try http2.sendBody(page, on: stream, ends: false) }
            let reset = try http2.readFrame(HTTP2ServerConnection.FrameType.reset)
            // FLOW_CONTROL_ERROR
            #expect(reset == HTTP2ServerConnection.Frame(type: 3, stream: stream, payload: [0, 0, 0, 3]))
            isReset.fire()
            try connection.waitForClose()
        }
        defer { server.stop() }
        let delegate = CountingDelegate()
        // Reading stops as long as this is not answered.
        let letThrough = Watched<(@Sendable (URLSession.ResponseDisposition) -> Void)?>(nil)
        delegate.answer = { _, answer in letThrough.withValue { $0 = answer } }
        let memory = try MemoryWatch()
        let session = URLSession(delegate) { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        session.dataTask(with: server.url("/", host: "localhost")).resume()
        try await isReset.wait()
        let answer = try await letThrough.wait(for: "the question") { $0 }
        answer(.allow)
        try await delegate.ended.wait()
        #expect(memory.growth() < Memory.limit(Self.mostMemory))
        #expect(delegate.error.current == .cannotParseResponse)
        // Beside the window what came before reading stopped, which was given back.
        #expect(delegate.received.current <= (1 << 20) + (1 << 16))
        session.invalidateAndCancel()
        try await server.finish()
    }
}
