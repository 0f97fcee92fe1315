/// What there is of a request's body when its stream may send some.
package enum HTTPStreamBodyRead: Sendable, Equatable {
    /// So many bytes were written into the buffer; after the last of them the request is whole. None, and not the last,
    /// means the same as `later`.
    case bytes(Int, isLast: Bool)
    /// Nothing now: `resumeBody(of:)` of the session has it asked for again.
    case later
    /// There will be no more. The stream is reset.
    case failed
}
