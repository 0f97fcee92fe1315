/// A WebSocket connection. Not there yet.
open class URLSessionWebSocketTask: URLSessionTask, @unchecked Sendable {
    // Sendable as every task is.
}
