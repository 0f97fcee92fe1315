import Foundation
import TestSupport
import Testing
import URLLoading

/// WebSocket tasks against servers that share no code with this project.
@Suite(.timeLimit(.minutes(5))) struct WebSocketMatrixTests {
    /// A server, over TLS or not.
    struct Peer: Sendable, CustomTestStringConvertible {
        let make: WebSocketServer.Make
        var isSecure = false
        var isCompressed = false

        var testDescription: String {
            make.rawValue + (isSecure ? " with TLS" : "") + (isCompressed ? ", compressed" : "")
        }

        /// Those that send whole messages back.
        static let exact = [WebSocketServer.Make.python, .node].flatMap {
            [Peer(make: $0), Peer(make: $0, isSecure: true)]
        }
        static let all = exact + [Peer(make: .libwebsockets), Peer(make: .websocketd)]

        /// False if the test is to be skipped.
        func isThere() throws -> Bool {
            guard let missing = make.part.missing else { return true }
            try missing.allowSkipping()
            return false
        }

        func withServer(
            command: [String] = ["cat"], _ use: (WebSocketServer, URLSession) async throws -> Void
        ) async throws {
            let authority = isSecure ? try TrustedAuthority.authority : nil
            let server = try WebSocketServer(make, authority: authority, command: command)
            defer { server.stop() }
            let configuration = URLSessionConfiguration.ephemeral
            configuration.enablesWebSocketCompression = isCompressed
            let session = URLSession(configuration: configuration)
            defer { session.invalidateAndCancel() }
            try await use(server, session)
        }

        func open(_ server: WebSocketServer, _ session: URLSession, _ path: String = "/echo") -> URLSessionWebSocketTask
        {
            let task = session.webSocketTask(with: server.url(path), protocols: server.subprotocols)
            task.maximumMessageSize = 64 << 20
            task.resume()
            return task
        }
    }

    private static let sizes = [0, 1, 125, 126, 127, 1_000, 65_535, 65_536, 1 << 20, 16 << 20]

    private static func text(_ count: Int) -> String {
        // Repeated, because unoptimized tests make sixteen million characters slowly.
        let line = String(decoding: (0x21...0x7A).map { UInt8($0) }, as: UTF8.self)
        let repeated = String(repeating: line, count: count / line.utf8.count + 1)
        return String(decoding: Array(repeated.utf8.prefix(count)), as: UTF8.self)
    }

    // WS-6, WS-7, WS-8: a compressed message takes the same way
    @Test(
        "echoes of each size",
        arguments: Peer.exact + [
            Peer(make: .python, isCompressed: true), Peer(make: .python, isSecure: true, isCompressed: true),
        ])
    func echoes(peer: Peer) async throws {
        guard try peer.isThere() else { return }
        try await peer.withServer { server, session in
            let task = peer.open(server, session)
            for size in Self.sizes {
                let data = Data([UInt8].pattern(count: size))
                async let isSent: Void = task.send(.data(data))
                guard case .data(let echoed) = try await task.receive() else {
                    Issue.record("text instead of \(size) octets")
                    return
                }
                try await isSent
                #expect(echoed == data)
                let text = Self.text(size)
                async let isTextSent: Void = task.send(.string(text))
                guard case .string(let echoedText) = try await task.receive() else {
                    Issue.record("data instead of \(size) characters")
                    return
                }
                try await isTextSent
                #expect(echoedText == text)
            }
            try await ping(task)
            task.cancel(with: .normalClosure, reason: Data("bye".utf8))
            await #expect(throws: (any Error).self) { try await task.receive() }
            #expect(task.closeCode == .normalClosure)
            #expect(task.error == nil)
        }
    }

    // WS-7: fragments of the server
    @Test("echoes in fragments", arguments: Peer.exact + [Peer(make: .python, isCompressed: true)], [1, 100, 65_536])
    func fragments(peer: Peer, size: Int) async throws {
        guard try peer.isThere() else { return }
        try await peer.withServer { server, session in
            let task = peer.open(server, session, "/fragments/\(size)")
            for count in [0, 1, size - 1, size, size + 1, 3 * size + 1, min(1_000 * size, 1 << 20)] {
                let data = Data([UInt8].pattern(count: count))
                try await task.send(.data(data))
                guard case .data(let echoed) = try await task.receive() else {
                    Issue.record("text instead of \(count) octets")
                    return
                }
                #expect(echoed == data)
            }
            task.cancel(with: .goingAway, reason: nil)
            await #expect(throws: (any Error).self) { try await task.receive() }
            #expect(task.closeCode == .goingAway)
        }
    }

    // WS-11
    @Test("the server closes", arguments: Peer.exact, [1000, 1001, 3000, 4999])
    func serverCloses(peer: Peer, code: Int) async throws {
        guard try peer.isThere() else { return }
        try await peer.withServer { server, session in
            let task = peer.open(server, session, "/close/\(code)/bye")
            try await task.send(.string("now"))
            let error = await #expect(throws: (any Error).self) { try await task.receive() }
            #expect((error as? NSError)?.domain == NSPOSIXErrorDomain)
            #expect((error as? NSError)?.code == Int(ENOTCONN))
            #expect(task.closeCode.rawValue == code)
            #expect(task.closeReason == Data("bye".utf8))
            #expect(task.error == nil)
        }
    }

    // WS-10
    @Test("the client closes", arguments: Peer.all) func clientCloses(peer: Peer) async throws {
        guard try peer.isThere() else { return }
        try await peer.withServer { server, session in
            let task = peer.open(server, session)
            try await task.send(.string("there"))
            _ = try await task.receive()
            task.cancel(with: .normalClosure, reason: nil)
            await #expect(throws: (any Error).self) { try await task.receive() }
            #expect(task.closeCode == .normalClosure)
        }
    }

    // WS-9: in both directions
    @Test("a hundred pings", arguments: Peer.all) func pings(peer: Peer) async throws {
        guard try peer.isThere() else { return }
        try await peer.withServer { server, session in
            let task = peer.open(server, session, peer.make == .python ? "/pings/100" : "/echo")
            for _ in 0..<100 { try await ping(task) }
            if peer.make == .python {
                guard case .string("100") = try await task.receive() else {
                    Issue.record("the server's pings were not answered")
                    return
                }
            }
            task.cancel()
        }
    }

    // WS-1, WS-3
    @Test("a subprotocol", arguments: [false, true]) func subprotocol(isSecure: Bool) async throws {
        let peer = Peer(make: .python, isSecure: isSecure)
        guard try peer.isThere() else { return }
        try await peer.withServer { server, session in
            let task = session.webSocketTask(with: server.url("/subprotocol"), protocols: ["other", "superchat"])
            task.resume()
            guard case .string("superchat") = try await task.receive() else {
                Issue.record("another subprotocol")
                return
            }
            task.cancel()
        }
    }

    // WS-7: libwebsockets sends text back in pieces of its buffer
    @Test("libwebsockets", arguments: [0, 1, 125, 126, 127, 1_000, 4_000, 65_535, 65_536])
    func libwebsockets(size: Int) async throws {
        let peer = Peer(make: .libwebsockets)
        guard try peer.isThere() else { return }
        try await peer.withServer { server, session in
            let task = peer.open(server, session)
            let text = Self.text(size)
            try await task.send(.string(text))
            var echoed = ""
            repeat {
                guard case .string(let piece) = try await task.receive() else { break }
                echoed += piece
            } while echoed.utf8.count < size
            #expect(echoed == text)
            task.cancel(with: .normalClosure, reason: nil)
            await #expect(throws: (any Error).self) { try await task.receive() }
        }
    }

    // WS-7: a line of text is a message
    @Test("websocketd", arguments: [0, 1, 125, 126, 127, 65_535, 65_536, 1 << 20]) func websocketd(size: Int)
        async throws
    {
        let peer = Peer(make: .websocketd)
        guard try peer.isThere() else { return }
        try await peer.withServer { server, session in
            let task = peer.open(server, session)
            let text = Self.text(size)
            try await task.send(.string(text))
            guard case .string(let echoed) = try await task.receive() else {
                Issue.record("data instead of text")
                return
            }
            #expect(echoed == text)
            task.cancel(with: .normalClosure, reason: nil)
            await #expect(throws: (any Error).self) { try await task.receive() }
        }
    }

    // WS-13
    @Test(
        "a server that ends the connection without a close frame", arguments: [WebSocketServer.Make.node, .websocketd])
    func dropped(make: WebSocketServer.Make) async throws {
        let peer = Peer(make: make)
        guard try peer.isThere() else { return }
        try await peer.withServer(command: ["head", "-n", "1"]) { server, session in
            let task = peer.open(server, session, "/drop")
            try await task.send(.string("now"))
            if make == .websocketd { _ = try await task.receive() }
            let error = await #expect(throws: URLError.self) { try await task.receive() }
            #expect(error?.code == .networkConnectionLost)
            #expect(task.closeCode == .abnormalClosure)
        }
    }

    // WS-4: another request of the same server
    @Test("a server without WebSockets", arguments: [false, true]) func refused(isSecure: Bool) async throws {
        let peer = Peer(make: .python, isSecure: isSecure)
        guard try peer.isThere() else { return }
        try await peer.withServer { server, session in
            var request = URLRequest(url: server.url())
            var components = try #require(URLComponents(url: server.url(), resolvingAgainstBaseURL: false))
            components.scheme = isSecure ? "https" : "http"
            request.url = components.url
            let (_, response) = try await session.data(for: request)
            #expect((response as? HTTPURLResponse)?.statusCode == 426)
        }
    }

    private func ping(_ task: URLSessionWebSocketTask) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            task.sendPing { error in
                if let error { continuation.resume(throwing: error) } else { continuation.resume() }
            }
        }
    }
}
