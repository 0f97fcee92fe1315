public import Foundation

/// A task that uploads a body from data, a file or a stream.
///
/// A file is read while it is sent, so memory use does not depend on its size. The task fails if the file is missing,
/// unreadable, or truncated while it is sent.
///
/// If the server supports resumable uploads (draft-ietf-httpbis-resumable-upload), a task whose connection is lost
/// resumes automatically.
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {
    // Sendable as every task is.

    /// Cancels the task and passes resume data for `uploadTask(withResumeData:)`. The data is nil if the server does
    /// not support resumption. The task also completes with `URLError.cancelled`, which contains the same data.
    ///
    /// The handler is called on the session's delegate queue, exactly once.
    @preconcurrency open func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
        guard let core else { return completionHandler(nil) }
        core.cancel(self, producingResumeData: completionHandler)
    }

    /// Cancels the task and returns resume data for `uploadTask(withResumeData:)`, or nil if the upload cannot be
    /// resumed.
    @_disfavoredOverload
    open func cancelByProducingResumeData() async -> Data? {
        await firstAnswer { cancel(byProducingResumeData: $0) }
    }
}
