internal import Foundation
internal import LoadingPipeline
internal import LoadingProtocols

/// What a WebSocket task has beyond other tasks.
final class WebSocketState: @unchecked Sendable {
    // Sendable because the first members are guarded by the task's lock, and the rest is confined to the session's
    // loop. The lock separates accesses, and no access to the load lasts while it is called, so exclusive access is not
    // checked.

    /// In octets. Apple's default (WS-8).
    static let standardMessageSize = 1_048_576

    /// False if the task must fail, because the subprotocols that it was given are not tokens.
    let isValid: Bool

    init(isValid: Bool) { self.isValid = isValid }

    // MARK: Guarded by the task's lock

    var maximumMessageSize = standardMessageSize
    var closeCode = URLSessionWebSocketTask.CloseCode.invalid
    var closeReason: Data?
    /// Nanoseconds.
    var pingInterval: Int64?
    /// Numbers the messages of several parts.
    var lastMessage = 0
    @exclusivity(unchecked) var inbox = WebSocketInbox()

    // MARK: Confined to the loop

    /// The open connection.
    @exclusivity(unchecked) var load: WebSocketLoad?
    /// The calls before the connection is open.
    var earlyCalls: [WebSocketCall] = []
}
