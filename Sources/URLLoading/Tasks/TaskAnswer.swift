/// The caller of a method of a stream or WebSocket task, and so where its result goes.
enum TaskCaller {
    /// A completion handler, on the delegate queue.
    case handler
    /// An `async` method, which needs no queue.
    case continuation
}

/// The result of such a method, with what it is given to. Not all are closures, because that would cost an allocation
/// for each WebSocket message.
enum TaskAnswer: Sendable {
    case call(@Sendable () -> Void)
    case sent(WebSocketOperation.Handler, (any Error)?)
    case received(WebSocketInbox.Receiver.Handler, Result<URLSessionWebSocketTask.Message, any Error>)

    /// Calls the completion handler, or resumes the caller. Not inlined, because what it has would be copied.
    @inline(never)
    consuming func deliver() {
        switch consume self {
        case .call(let call): call()
        case .sent(let handler, let error): handler(error)
        case .received(let handler, let result): handler(result)
        }
    }
}
