public import Foundation
internal import LoadingPipeline
internal import LoadingProtocols

/// A WebSocket connection (RFC 6455).
///
/// Created by ``URLSession/webSocketTask(with:)-(URL)``. Like all tasks it starts with `resume()`; earlier operations
/// are queued. The opening handshake is a request like any other: it follows redirects, answers challenges, sends and
/// stores cookies, and uses the session's proxies. If the response opens no WebSocket, the task fails with
/// `URLError.badServerResponse`, and `response` has what the server sent.
///
/// **Order.** Messages are sent in the order of the calls and received in the server's order. All members are
/// thread-safe. Completion handlers are called exactly once, on the session's delegate queue, which `async` methods do
/// not need. Cancelling the Swift task of an `async` call does not end the call; `cancel()` does.
///
/// **Errors.** An error ends the task, and all its pending and later operations fail with it. A server that violates
/// the protocol causes `EPROTO` in `NSPOSIXErrorDomain`, a message above ``maximumMessageSize`` `EMSGSIZE`, and a
/// connection that ends without a close frame `URLError.networkConnectionLost`; ``closeCode`` is then
/// `.abnormalClosure`. The task completes with it when the messages before have been received, or none of them is for
/// five seconds.
///
/// **The end.** When the server closes, or has confirmed ``cancel(with:reason:)``, the delegate's
/// ``URLSessionWebSocketDelegate/urlSession(_:webSocketTask:didCloseWith:reason:)`` is called and the task completes
/// without an error. Messages that had been received before can still be read; after them, operations fail with
/// `ENOTCONN` in `NSPOSIXErrorDomain`.
///
/// **Timeouts.** `timeoutIntervalForRequest` applies to the opening handshake, `timeoutIntervalForResource` to the
/// whole task.
///
/// **Back-pressure.** About 64 KiB of messages are read ahead of `receive`; then the server has to wait, and its pings
/// and its close frame too.
open class URLSessionWebSocketTask: URLSessionTask, @unchecked Sendable {
    // Sendable as every task is.

    /// A message of a WebSocket.
    @frozen public enum Message: Sendable {
        /// A binary message.
        case data(Data)
        /// A text message.
        case string(String)
    }

    var webSocket: WebSocketState? { core?.webSocket }

    /// Sends a message, after the messages before it.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - completionHandler: Called without an error when the kernel has accepted the last octet. The server may not
    ///     have received it yet.
    @preconcurrency open func send(
        _ message: Message, completionHandler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        guard let core else { return completionHandler(URLError(.cancelled)) }
        core.perform(.send(message, .whole(isText: message.isText)), completionHandler)
    }

    /// For the `async` methods. An object without a core is that of a subclass, which may override the other method.
    private final func send(
        _ message: Message, for caller: TaskCaller, _ handler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        guard let core else { return send(message, completionHandler: handler) }
        core.perform(.send(message, .whole(isText: message.isText)), for: caller, handler)
    }

    /// Sends a message; see ``send(_:completionHandler:)``.
    open func send(_ message: Message) async throws {
        // Only debug builds check that the handler is called once, because the check costs an object for each message.
        #if DEBUG
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                send(message, for: .continuation) { error in
                    if let error { continuation.resume(throwing: error) } else { continuation.resume() }
                }
            }
        #else
            try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Void, any Error>) in
                send(message, for: .continuation) { error in
                    if let error { continuation.resume(throwing: error) } else { continuation.resume() }
                }
            }
        #endif
    }

    /// Receives the next message. Several calls receive one message each, in order.
    @preconcurrency open func receive(
        completionHandler: @escaping @Sendable (Result<Message, any Error>) -> Void
    ) {
        guard let core else { return completionHandler(.failure(URLError(.cancelled))) }
        core.receive(completionHandler)
    }

    private final func receive(
        for caller: TaskCaller, _ handler: @escaping WebSocketInbox.Receiver.Handler
    ) {
        guard let core else { return receive(completionHandler: handler) }
        core.receive(for: caller, handler)
    }

    /// Receives the next message; see ``receive(completionHandler:)``.
    open func receive() async throws -> Message {
        // Without a change of threads if one is there.
        if let message = core?.takeMessage() { return message }
        #if DEBUG
            return try await withCheckedThrowingContinuation { continuation in
                receive(for: .continuation) { continuation.resume(with: $0) }
            }
        #else
            return try await withUnsafeThrowingContinuation { continuation in
                receive(for: .continuation) { continuation.resume(with: $0) }
            }
        #endif
    }

    /// Sends a ping. The server's pings are answered without a call.
    ///
    /// - Parameter pongReceiveHandler: Called without an error when the server has answered, in the order of the pings.
    @preconcurrency open func sendPing(pongReceiveHandler: @escaping @Sendable ((any Error)?) -> Void) {
        guard let core else { return pongReceiveHandler(URLError(.cancelled)) }
        core.perform(.ping, pongReceiveHandler)
    }

    /// Closes the connection: sends the messages that wait, then a close frame, and completes without an error when the
    /// server has confirmed it. A server that does not within five seconds, or ends the connection instead, causes an
    /// error.
    ///
    /// Before the connection is open, the task is cancelled, as by `cancel()`, which otherwise does not wait for the
    /// server and completes with `URLError.cancelled`.
    ///
    /// - Parameters:
    ///   - closeCode: A code that RFC 6455 does not allow to be sent, such as `.invalid`, is left out, with the reason.
    ///   - reason: At most 123 octets of UTF-8; the rest is left out, from what is not UTF-8 on.
    open func cancel(with closeCode: CloseCode, reason: Data?) {
        guard let core, let webSocket else { return }
        core.close(webSocket, with: closeCode, reason: reason, self)
    }

    /// The code with which the connection was closed: that of the server's close frame, until then that of
    /// ``cancel(with:reason:)``. `.invalid` before, `.noStatusReceived` if the server gave no code, and
    /// `.abnormalClosure` if an open connection ended without a close frame.
    open var closeCode: CloseCode {
        guard let core, let webSocket else { return .invalid }
        return core.locked { _ in webSocket.closeCode }
    }

    /// The reason that came with the code; nil before the connection is closed. Empty if the server gave none.
    open var closeReason: Data? {
        guard let core, let webSocket else { return nil }
        return core.locked { _ in webSocket.closeReason }
    }

    /// The largest message to receive, in octets; 1 MiB by default. A larger one fails the task. May be changed at any
    /// time, and applies to the messages that are read from then on.
    open var maximumMessageSize: Int {
        get {
            guard let core, let webSocket else { return WebSocketState.standardMessageSize }
            return core.locked { _ in webSocket.maximumMessageSize }
        }
        set {
            guard let core, let webSocket else { return }
            core.setMaximumMessageSize(newValue, webSocket)
        }
    }
}

extension URLSessionWebSocketTask.Message {
    var isText: Bool { if case .string = self { true } else { false } }
}
