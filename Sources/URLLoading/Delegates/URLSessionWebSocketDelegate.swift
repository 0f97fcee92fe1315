public import Foundation

/// What a WebSocket task tells besides what every task does.
@preconcurrency public protocol URLSessionWebSocketDelegate: URLSessionTaskDelegate {
    /// The handshake is done. The protocol is the one the server picked, or nil.
    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?)

    /// The other end has closed, with that code and reason.
    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?)
}

extension URLSessionWebSocketDelegate {
    public func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        markMissing(.webSocketTaskDidOpen, in: self)
    }

    public func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        markMissing(.webSocketTaskDidClose, in: self)
    }
}
