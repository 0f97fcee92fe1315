public import Foundation
internal import LoadingEvents
internal import LoadingProtocols

/// The server's side of a WebSocket, in the conversation of ``TestResponse/webSocket(subprotocol:_:)``.
///
///     server.enqueue(.webSocket { socket in
///         while let message = try await socket.receive() { try await socket.send(message) }
///     })
///
/// Its methods throw ``TestServerError/webSocketEnded`` when the connection has ended, and when the client violates the
/// protocol. If their task is cancelled, the connection ends. Messages are not compressed.
public final class TestWebSocket: Sendable {
    /// A message, of either kind.
    public enum Message: Sendable, Equatable {
        /// A text, in UTF-8 on the wire.
        case text(String)
        /// Any bytes.
        case binary(Data)
    }

    private let frames: WebSocketFrames
    // They may block for as long as the client sends nothing, or takes nothing.
    // Not on dispatch queues: those of a process share a few hundred threads, and all of them could be blocked.
    private let reading: SerialWork
    private let writing: SerialWork

    /// - Parameter input: Bytes that have been read already.
    init(_ socket: TestSocket, _ input: [UInt8], of core: TestServerCore) {
        frames = WebSocketFrames(socket, input)
        reading = SerialWork { core.start(named: "test-ws-reads", $0) }
        writing = SerialWork { core.start(named: "test-ws-writes", $0) }
    }

    /// The code of the client's close frame, 1005 if it has none (RFC 6455 §7.1.5); nil before it was received.
    public var receivedCloseCode: Int? { frames.receivedCloseCode }

    /// The number of pings that have been answered.
    public var pingCount: Int { frames.pingCount }

    /// Waits for the next message, and answers pings that come before it. Nil after the client's close frame, which is
    /// answered too.
    public func receive() async throws -> Message? { try await run(on: reading) { try $0.readMessage() } }

    /// Sends a message in one frame.
    public func send(_ message: Message) async throws {
        try await run(on: writing) { frames in
            switch message {
            case .text(let text): try frames.write(.text, text.utf8)
            case .binary(let data): try frames.write(.binary, data)
            }
        }
    }

    /// Sends a text in one frame.
    public func send(_ text: String) async throws { try await send(.text(text)) }

    /// Sends a ping with at most 125 bytes. ``receive()`` reads its pong.
    public func ping(_ content: Data = Data()) async throws {
        try await run(on: writing) { try $0.write(.ping, content.prefix(125)) }
    }

    /// Sends a close frame, and waits for that of the client. Messages that come before it are dropped.
    public func close(code: Int = 1000, reason: String = "") async throws {
        try await run(on: writing) { try $0.writeClose(code, reason) }
        while try await receive() != nil {}
    }

    /// Sends any bytes, for a server that violates the protocol.
    public func sendRaw(_ bytes: Data) async throws { try await run(on: writing) { try $0.writeRaw(Array(bytes)) } }

    /// At the end of the conversation.
    func end() async { try? await run(on: writing) { try $0.writeClose(1000, "") } }

    private func run<Value: Sendable>(
        on thread: SerialWork, _ body: @escaping @Sendable (WebSocketFrames) throws -> Value
    ) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                thread.perform { [frames] in
                    let result = Result { try body(frames) }
                    continuation.resume(
                        with: result.mapError { $0 is TestSocket.Ended ? TestServerError.webSocketEnded : $0 })
                }
            }
        } onCancel: {
            frames.interrupt()
        }
    }
}
