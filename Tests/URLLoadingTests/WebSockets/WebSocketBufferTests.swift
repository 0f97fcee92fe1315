import Foundation
import TestSupport
import Testing
import URLLoading
import URLLoadingTesting

#if compiler(>=6.2)
    /// The memory of connections on which messages flow, and of those that are quiet.
    @Suite struct WebSocketBufferTests {
        // In a process of its own, whose memory no other test changes.
        @Test(
            "the buffers of TLS are kept while messages follow each other, and given back afterwards",
            .disabled(if: Memory.isSanitized, "a sanitizer's allocator keeps what is freed"))
        func buffers() async throws {
            await #expect(processExitsWith: .exitCode(7)) {
                let server = try TestServer()
                server.offersHTTP2 = false
                server.handler = { _ in
                    .webSocket { socket in
                        while let message = try await socket.receive() { try await socket.send(message) }
                    }
                }
                let session = URLSession(configuration: server.configuration())
                guard let url = URL(string: "wss://example.com/echo") else { exit(2) }
                let tasks = (0..<Self.count).map { _ in session.webSocketTask(with: url) }
                for task in tasks { task.resume() }
                try await Self.echo(on: tasks)
                let busy = try Self.resident()
                let deadline = ContinuousClock.now + .seconds(20)
                // From OpenSSL 3.2 on, the buffer for writing is not kept anyhow. Of that for reading, which has a
                // little more than four pages, the two or three that are its own go back.
                while try busy - Self.resident() < Self.count * 8_000 {
                    if ContinuousClock.now > deadline { exit(3) }
                    try await Task.sleep(for: .milliseconds(100))
                }
                // They are as useful as before.
                try await Self.echo(on: tasks)
                exit(7)
            }
        }

        private static let count = 100

        private static func echo(on tasks: [URLSessionWebSocketTask]) async throws {
            for task in tasks {
                for _ in 0..<5 {
                    // As long as a record, so that all of the buffers is used.
                    try await task.send(.data(Data(count: 16_000)))
                    _ = try await task.receive()
                }
            }
        }

        /// In bytes, without what the allocator keeps.
        private static func resident() throws -> Int {
            typealias Trim = @convention(c) (Int) -> Int32
            guard let symbol = dlsym(nil, "malloc_trim") else { throw POSIXFailure("malloc_trim") }
            // The type of `malloc_trim` in glibc.
            _ = unsafeBitCast(symbol, to: Trim.self)(0)
            return Memory.resident
        }
    }
#endif
