extension URLSessionTask {
    /// The state of a task.
    public enum State: Int, Sendable {
        /// Running. Timeouts run in this state only.
        case running = 0
        /// Not started, or suspended: the initial state.
        case suspended = 1
        /// Cancelled; the completion is not delivered yet.
        case canceling = 2
        /// Ended: no more callbacks.
        case completed = 3
    }
}
