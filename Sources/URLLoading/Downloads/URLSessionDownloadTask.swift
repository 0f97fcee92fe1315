public import Foundation

/// A task that writes the body of its response to a file.
///
/// The file is in the temporary directory, readable by the current user only. An HTTP error status is not an error of
/// the task: the file then contains the body of, for example, the 404 response.
open class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {
    // Sendable as every task is.

    /// Cancels the task and passes resume data for `downloadTask(withResumeData:)`. The data is nil if the download
    /// cannot be resumed: the server sent no validator or does not support ranges, or the method is not GET. The task
    /// also completes with `URLError.cancelled`, which contains the same data.
    ///
    /// The handler is called on the session's delegate queue, exactly once.
    @preconcurrency open func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
        guard let core else { return completionHandler(nil) }
        core.cancel(self, producingResumeData: completionHandler)
    }

    /// Cancels the task and returns resume data for `downloadTask(withResumeData:)`, or nil if the download cannot be
    /// resumed.
    @_disfavoredOverload
    open func cancelByProducingResumeData() async -> Data? {
        await firstAnswer { cancel(byProducingResumeData: $0) }
    }

    /// Passes resume data for the case that the process is killed, without stopping the download. The length of the
    /// file counts when it is used. Nil before anything was written, and if the download cannot be resumed. Called on
    /// any thread. Not part of Apple's API, so not public.
    package func resumeDataUnderWay(_ handler: @escaping @Sendable (Data?) -> Void) {
        guard let core else { return handler(nil) }
        core.resumeDataUnderWay(handler)
    }

    /// The name of the partial file of resume data, in the session's download folder. Nil for invalid data.
    package static func fileName(inResumeData data: Data) -> String? {
        guard let known = DownloadResumeData(data), known.point != nil else { return nil }
        return known.safeFileName
    }

    /// The same resume data without the header fields of the request, which the resumed task has from its session then.
    /// Nil for invalid data.
    package static func withoutFields(inResumeData data: Data) -> Data? {
        DownloadResumeData(data)?.withoutFields.encoded
    }
}
