/// The length of a response body by its head, before content decoding.
package enum BodyLength: Sendable, Equatable {
    /// The response has no body, whatever its fields say.
    case none
    case known(Int64)
    /// The protocol marks the end.
    case unknown
    /// The body ends with the connection.
    case untilClose
}
