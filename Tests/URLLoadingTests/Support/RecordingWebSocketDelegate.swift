import Foundation
import TestSupport
import URLLoading

/// Records the callbacks of WebSocket tasks, and the results of sends, receives and pings.
final class RecordingWebSocketDelegate: RecordingDelegate, URLSessionWebSocketDelegate, @unchecked Sendable {
    // Sendable as the class it comes from.

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        note(.opened(webSocketTask.taskIdentifier, `protocol`), session, webSocketTask)
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        let text = reason.map { String(decoding: $0, as: UTF8.self) }
        note(.closed(webSocketTask.taskIdentifier, closeCode.rawValue, text), session, webSocketTask)
    }

    /// A send with a recorded result: `sent NAME`.
    func send(_ task: URLSessionWebSocketTask, _ text: String, as name: String? = nil) {
        task.send(.string(text)) { [calls] error in
            calls.record(.result("sent \(name ?? text)" + (error.map { ": \($0.summary)" } ?? "")))
        }
    }

    /// A receive with a recorded result: `received text` or `received: ERROR`.
    func receive(_ task: URLSessionWebSocketTask) {
        task.receive { [calls] in calls.record(.result(Self.text(of: $0))) }
    }

    /// A ping with a recorded result: `pong NAME`.
    func ping(_ task: URLSessionWebSocketTask, as name: String = "") {
        task.sendPing { [calls] error in
            calls.record(.result("pong \(name)" + (error.map { ": \($0.summary)" } ?? "")))
        }
    }

    static func text(of result: Result<URLSessionWebSocketTask.Message, any Error>) -> String {
        switch result {
        case .success(.string(let text)): "received \(text)"
        case .success(.data(let data)): "received data \(String(decoding: data, as: UTF8.self))"
        case .success: "received something unknown"
        case .failure(let error): "received: \(error.summary)"
        }
    }

    /// The recorded results, without callbacks.
    var results: [String] {
        calls.events.compactMap { if case .result(let text) = $0 { text } else { nil } }
    }

    /// Waits until there is a number of results, and returns all.
    @discardableResult
    func results(count: Int) async throws -> [String] {
        try await calls.waitUntil("\(count) results") { calls in
            calls.count { if case .result = $0 { true } else { false } } >= count
        }
        return results
    }
}

extension Error {
    /// The code of an error of URL loading, or the domain and the code of another one.
    var summary: String {
        if let code = urlErrorCode { return "\(code.rawValue)" }
        if self is CancellationError { return "CancellationError" }
        let error = self as NSError
        return error.domain == NSPOSIXErrorDomain ? "POSIX \(error.code)" : "\(error.domain) \(error.code)"
    }
}

extension URLSessionWebSocketTask.Message {
    /// The same in the tests' terms.
    var message: WebSocketMessage {
        switch self {
        case .string(let text): .text(text)
        case .data(let data): .binary(Array(data))
        @unknown default: .binary([])
        }
    }
}
