internal import Foundation
internal import LoadingPipeline
internal import LoadingProtocols

/// What a WebSocket task has beyond other tasks.
final class WebSocketState: @unchecked Sendable {
    // Sendable because the first members are guarded by the task's lock, and the rest is confined to the session's loop.

    /// In octets. Apple's default (WS-8).
    static let standardMessageSize = 1_048_576

    // MARK: Guarded by the task's lock

    var maximumMessageSize = standardMessageSize
    var closeCode = URLSessionWebSocketTask.CloseCode.invalid
    var closeReason: Data?
    /// Nanoseconds.
    var pingInterval: Int64?
    /// Numbers the messages of several parts.
    var lastMessage = 0

    // MARK: Confined to the loop

    /// The open connection, also after its end, for messages that were received before.
    var load: WebSocketLoad?
    /// The operations before the connection is open.
    var earlyOperations: [WebSocketOperation] = []
}

/// An operation of a WebSocket task.
enum WebSocketOperation: Sendable {
    case send(any WebSocketPayload, WebSocketLoad.MessagePart, @Sendable ((any Error)?) -> Void)
    case receive(@Sendable (Result<WebSocketMessage, any Error>) -> Void)
    case ping(@Sendable ((any Error)?) -> Void)

    /// The operation with its handler called through `answerer`.
    func answered(by answerer: @escaping StreamOperation.Answerer) -> WebSocketOperation {
        switch self {
        case .send(let payload, let part, let handler):
            .send(payload, part) { error in answerer { handler(error) } }
        case .receive(let handler): .receive { result in answerer { handler(result) } }
        case .ping(let handler): .ping { error in answerer { handler(error) } }
        }
    }

    func fail(_ error: any Error) {
        switch self {
        case .send(_, _, let handler), .ping(let handler): handler(error)
        case .receive(let handler): handler(.failure(error))
        }
    }
}
