extension NSURLRequest {
    /// Who caused a request.
    public enum Attribution: UInt, Sendable {
        /// The program itself.
        case developer = 0
        /// The user, by naming the address.
        case user = 1
    }
}
