/// The next step of a resumable upload.
package enum UploadStep: Sendable, Equatable {
    /// Send a request after a pause in seconds.
    case send(UploadRequest, pause: Int)
    /// The current response is the result of the task.
    case deliver
    /// The task fails with the error that led here, or with a lost connection if a response did.
    case giveUp
    case fail(LoadError)
    /// The server proposes to continue at another origin. Ask the client, and call `move` if it agrees. The current
    /// request continues meanwhile.
    case askToMove(String)
}
