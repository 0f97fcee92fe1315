internal import Foundation

extension DelegateReference {
    package func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) -> Bool {
        guard let webSocketDelegate else { return false }
        return deliver(.webSocketTaskDidOpen) {
            webSocketDelegate.urlSession(session, webSocketTask: webSocketTask, didOpenWithProtocol: `protocol`)
        }
    }

    package func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) -> Bool {
        guard let webSocketDelegate else { return false }
        return deliver(.webSocketTaskDidClose) {
            webSocketDelegate.urlSession(
                session, webSocketTask: webSocketTask, didCloseWith: closeCode, reason: reason)
        }
    }
}
