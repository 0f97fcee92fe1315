/// A WebSocket connection. Not implemented yet.
open class URLSessionWebSocketTask: URLSessionTask, @unchecked Sendable {
    // Sendable as every task is.
}
