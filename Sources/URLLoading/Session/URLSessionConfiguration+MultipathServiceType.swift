extension URLSessionConfiguration {
    /// How multiple paths to a host are used. On Linux any value except `none` requests multipath TCP from the kernel.
    public enum MultipathServiceType: Int, Sendable {
        /// One path.
        case none = 0
        /// A second path takes over when the first is lost.
        case handover = 1
        /// The path with the least delay.
        case interactive = 2
        /// All paths together.
        case aggregate = 3
    }
}
