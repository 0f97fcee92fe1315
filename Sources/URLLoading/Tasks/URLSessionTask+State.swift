extension URLSessionTask {
    /// Where a task stands.
    public enum State: Int, Sendable {
        /// Working. Only now do the timeouts run.
        case running = 0
        /// Not started, or paused; the state of every new task.
        case suspended = 1
        /// Cancelled, its completion still to be delivered.
        case canceling = 2
        /// Ended; the delegate hears no more of it.
        case completed = 3
    }
}
