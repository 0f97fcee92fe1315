extension HTTPCookie {
    /// Which cookies of responses a storage takes.
    public enum AcceptPolicy: UInt, Sendable {
        /// All.
        case always = 0
        /// None.
        case never = 1
        /// Those of the main document's domain.
        case onlyFromMainDocumentDomain = 2
    }
}
