/// How far a request had come when its connection failed, in the order of growing doubt (CONN-10).
package enum HTTP1RetrySafety: Sendable, Equatable {
    /// The transport took none of its bytes: any request may be sent again.
    case unsent
    /// Some of it went out and nothing came back: the server may have acted on it, unless the connection was stale.
    case unanswered
    /// A response had begun.
    case answered
}
