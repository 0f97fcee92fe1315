public import Foundation

/// A task that writes the body of its response to a file.
///
/// The file is written as the body comes, in the folder for temporary files, readable by this user only. An HTTP status
/// is no error: the body of a 404 is what is in the file then.
open class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {
    // Sendable as every task is.

    /// Ends the task and gives what `downloadTask(withResumeData:)` takes to go on with it: nil if the download can't go
    /// on, because the server offered no validator, does not serve parts, or the request was no GET. The task completes
    /// with `URLError.cancelled` as well, which has the same data.
    ///
    /// The handler is called on the session's delegate queue, exactly once.
    @preconcurrency open func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
        guard let core else { return completionHandler(nil) }
        core.cancel(self, producingResumeData: completionHandler)
    }

    /// Ends the task and gives what `downloadTask(withResumeData:)` takes to go on with it; nil if it can't go on.
    open func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { continuation in
            cancel(byProducingResumeData: { continuation.resume(returning: $0) })
        }
    }

    /// Gives, on any thread, what `downloadTask(withResumeData:)` takes to go on with this download if the process ends
    /// without another word: what has come is what the file has by then. Nil before anything was written, and if the
    /// download can't go on. Not Apple's, hence not public.
    package func resumeDataUnderWay(_ handler: @escaping @Sendable (Data?) -> Void) {
        guard let core else { return handler(nil) }
        core.resumeDataUnderWay(handler)
    }

    /// The name of the file, in the session's folder for downloads, that resume data speaks of. Nil if it is none.
    package static func fileName(inResumeData data: Data) -> String? {
        guard let known = DownloadResumeData(data), known.point != nil else { return nil }
        return known.safeFileName
    }
}
