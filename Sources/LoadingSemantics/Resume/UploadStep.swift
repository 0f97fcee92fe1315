/// What is to be done next in a resumable upload.
package enum UploadStep: Sendable, Equatable {
    /// Send a request, once `pause` seconds have gone by.
    case send(UploadRequest, pause: Int)
    /// The response at hand is that of the task.
    case deliver
    /// The task fails with the error that led here, or with one of a lost connection if a response did.
    case giveUp
    case fail(LoadError)
    /// The server wants the upload to go on at that address, of another origin: ask the upload's client, and call `move` if
    /// it agrees. The request at hand goes on meanwhile.
    case askToMove(String)
}
