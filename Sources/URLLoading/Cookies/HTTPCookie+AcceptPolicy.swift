extension HTTPCookie {
    /// Which cookies of responses a storage accepts.
    public enum AcceptPolicy: UInt, Sendable {
        /// All.
        case always = 0
        /// None.
        case never = 1
        /// Cookies of the main document's domain.
        case onlyFromMainDocumentDomain = 2
    }
}
