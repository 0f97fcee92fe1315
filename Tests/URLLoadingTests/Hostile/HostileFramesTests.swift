import Foundation
import TestSupport
import Testing
import URLLoading

/// HTTP/2 protocol violations of servers: complete sessions, over TLS.
@Suite(.leavesNothing) struct HostileFramesTests {
    private typealias FrameType = HTTP2ServerConnection.FrameType

    /// Sends the frames for the first request, and answers later ones. Returns the client's error report.
    private func server(
        saying frames: HostileFrames, reaction: EventRecorder<HostileFrames.Reaction>
    ) throws -> ScriptedServer {
        try ScriptedServer(tls: try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }) { connection in
            let isFirst = connection.index == 0
            let http2 = try HTTP2ServerConnection(connection, settings: isFirst ? nil : [])
            if isFirst { try connection.send(frames.opening) }
            do {
                while true {
                    let frame = try http2.readFrame()
                    switch frame.type {
                    case FrameType.headers where isFirst && frame.stream == 1: try connection.send(frames.bytes)
                    case FrameType.settings where frame.flags & 1 == 0:
                        try http2.send(FrameType.settings, flags: 1, stream: 0)
                    case FrameType.headers: try http2.respond(on: frame.stream, body: "well")
                    case FrameType.reset: reaction.record(.reset(frame.code(at: 0)))
                    case FrameType.goAway where frame.code(at: 4) != 0: reaction.record(.goAway(frame.code(at: 4)))
                    default: break
                    }
                }
            } catch  where connection.record.end != nil {
                // After GOAWAY the server gets the end of the connection.
            }
        }
    }

    private func load(_ frames: HostileFrames) async throws {
        let reaction = EventRecorder<HostileFrames.Reaction>()
        let server = try server(saying: frames, reaction: reaction)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.urlCache = nil }
        let url = server.url("/", host: "localhost")
        session.dataTask(with: url).resume()
        let recorded = try await delegate.calls(untilCompletions: 1)
        #expect(recorded.filter(\.isAboutResponse) == frames.recorded)
        if let expected = frames.reaction {
            try await reaction.waitFor(count: 1)
            #expect(reaction.events == [expected])
        }
        // The same server, well-behaved now.
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
        let all = try await delegate.callsUntilInvalid()
        #expect(all.of(2).filter(\.isAboutResponse) == [.response(2, 200), .data(2, "well"), .completed(2, nil)])
        #expect(all.of(1).completionCount == 1)
        #expect(delegate.faults.events == [])
        let isOver = if case .goAway? = frames.reaction { true } else { false }
        #expect(server.connectionCount == (isOver ? 2 : 1))
        if frames.reaction == nil { #expect(reaction.events == []) }
        try await server.finish()
    }

    // ERR-7
    @Test("the first frames of a server", arguments: HostileFrames.openings) func openings(frames: HostileFrames)
        async throws
    {
        try await load(frames)
    }

    // ERR-7
    @Test("frames that break a rule of the connection", arguments: HostileFrames.frames)
    func frames(frames: HostileFrames) async throws { try await load(frames) }

    // ERR-7
    @Test("fields that cannot be decompressed", arguments: HostileFrames.compression)
    func compression(frames: HostileFrames) async throws { try await load(frames) }

    // ERR-7, CONN-27: the connection goes on
    @Test("responses that are none", arguments: HostileFrames.responses)
    func responses(frames: HostileFrames) async throws { try await load(frames) }

    // RFC 9113 §4.1, §5.5
    @Test("oddities that do no harm", arguments: HostileFrames.ignored)
    func ignored(frames: HostileFrames) async throws { try await load(frames) }
}

extension HTTP2ServerConnection.Frame {
    /// The error code in a frame.
    fileprivate func code(at offset: Int) -> UInt32 {
        payload.dropFirst(offset).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }
}
