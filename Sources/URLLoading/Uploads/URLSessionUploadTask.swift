public import Foundation

/// A data task that sends a body: data, a file or a stream.
///
/// A file is read as it is sent, so that one of any size needs little memory. A task whose file is missing, unreadable or
/// shorter than it was when the sending began fails.
///
/// Where the server speaks the protocol for resumable uploads (draft-ietf-httpbis-resumable-upload), a task whose
/// connection is lost goes on by itself with what the server has not got.
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {
    // Sendable as every task is.

    /// Ends the task and gives what `uploadTask(withResumeData:)` takes to go on with it: nil if the server has not
    /// offered to go on. The task completes with `URLError.cancelled` as well, which has the same data.
    ///
    /// The handler is called on the session's delegate queue, exactly once.
    @preconcurrency open func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
        guard let core else { return completionHandler(nil) }
        core.cancel(self, producingResumeData: completionHandler)
    }

    /// Ends the task and gives what `uploadTask(withResumeData:)` takes to go on with it; nil if it can't go on.
    open func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { continuation in
            cancel(byProducingResumeData: { continuation.resume(returning: $0) })
        }
    }
}
