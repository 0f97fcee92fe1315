extension URLSessionConfiguration {
    /// How several paths to a host are used. On Linux anything but `none` asks the kernel for multipath TCP.
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
