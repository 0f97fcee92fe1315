public import Foundation
internal import LoadingPipeline
internal import LoadingProtocols

extension _URLSessionTaskMembers {
    /// An asynchronous sequence of ``URLSessionWebSocketTask/messages``.
    public struct Messages: AsyncSequence, Sendable {
        fileprivate let task: URLSessionWebSocketTask

        /// An iterator. Several iterators share the messages.
        public func makeAsyncIterator() -> Iterator { Iterator(task: task) }

        /// Iterates over the messages.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let task: URLSessionWebSocketTask

            /// The next message; nil after the connection was closed by close frames. Throws every other error of the
            /// task.
            public mutating func next() async throws -> URLSessionWebSocketTask.Message? {
                try Task.checkCancellation()
                do {
                    return try await task.receive()
                } catch let error as NSError where error.domain == NSPOSIXErrorDomain && error.code == Int(ENOTCONN) {
                    return nil
                }
            }
        }
    }
}

/// Additions to Apple's API: messages as sequences, in both directions, and pings at an interval.
extension URLSessionWebSocketTask {
    /// The messages that have not been received yet, as they come.
    ///
    ///     for try await message in task.messages { … }
    ///
    /// The sequence ends when the connection has been closed by close frames, and throws every other error of the task.
    /// Each message is passed to one receiver only, so several iterations share them. Cancelling the iterating Swift
    /// task ends the iteration with `CancellationError` before the next message is awaited; it does not end the
    /// connection.
    @_disfavoredOverload
    public var messages: Messages { Messages(task: self) }

    /// Sends one message whose parts are produced while it is sent, so that it may be larger than memory. Each part is
    /// a fragment on the wire, and the next one is asked for when the kernel has accepted the one before. Returns when
    /// it has accepted the last.
    ///
    /// Other messages that are sent meanwhile wait until this one is complete. If the sequence throws, or the Swift
    /// task is cancelled, after the message has begun, the WebSocket task is cancelled, because a message cannot be
    /// taken back; the error is then thrown.
    ///
    /// - Parameters:
    ///   - parts: The parts. Empty ones are omitted.
    ///   - asText: Whether the parts together are UTF-8 text. Parts may end within a character.
    @_disfavoredOverload
    public func send<Parts: AsyncSequence>(contentsOf parts: Parts, asText: Bool = false) async throws
    where Parts.Element == Data {
        guard let core, let webSocket else { throw URLError(.cancelled) }
        let number = core.locked { _ in
            webSocket.lastMessage += 1
            return webSocket.lastMessage
        }
        var (hasBegun, hasFailed) = (false, false)
        do {
            for try await part in parts {
                try Task.checkCancellation()
                // An empty fragment is not sent.
                if part.isEmpty { continue }
                let framing: WebSocketMachine.Part = hasBegun ? .middle : .first(isText: asText)
                hasBegun = true
                do {
                    try await send(part, framing, of: number)
                } catch {
                    // The connection closes or has ended.
                    hasFailed = true
                    throw error
                }
            }
            try Task.checkCancellation()
        } catch {
            if hasBegun, !hasFailed { cancel() }
            throw error
        }
        if hasBegun {
            try await send(Data(), .last, of: number)
        } else {
            try await send(asText ? .string("") : .data(Data()))
        }
    }

    private func send(_ part: Data, _ framing: WebSocketMachine.Part, of number: Int) async throws {
        guard let core else { throw URLError(.cancelled) }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            core.perform(.send(.data(part), .part(framing, of: number)), for: .continuation) { error in
                if let error { continuation.resume(throwing: error) } else { continuation.resume() }
            }
        }
    }

    /// The seconds without anything from the server after which a ping is sent. If nothing comes for as long again, the
    /// task fails with `URLError.timedOut`, so a lost server is noticed after twice the interval. Nil, the default,
    /// sends none.
    ///
    /// While unread messages stop the reading, no ping is sent and nothing fails.
    @_disfavoredOverload
    public var pingInterval: TimeInterval? {
        get {
            guard let core, let webSocket else { return nil }
            return core.locked { _ in webSocket.pingInterval }.map { Double($0) / 1e9 }
        }
        set {
            guard let core, let webSocket else { return }
            core.setPingInterval(
                newValue.flatMap { $0 > 0 ? max(1_000_000, Int64(min($0, 9e9) * 1e9)) : nil }, webSocket)
        }
    }
}
