/// What the head of a response says about the length of its body, content codings included.
package enum BodyLength: Sendable, Equatable {
    /// There is no body, whatever the fields say.
    case none
    case known(Int64)
    /// Its end is marked.
    case unknown
    /// It ends where the connection does.
    case untilClose
}
