import Foundation
import TestSupport
import URLLoading

/// A recording delegate that is asked what to keep.
final class RecordingCacheDelegate: RecordingDelegate, @unchecked Sendable {
    // Sendable as the class it comes from.

    typealias Reply = @Sendable (CachedURLResponse?) -> Void

    /// What is said to the question.
    var keep: @Sendable (URLSessionDataTask, CachedURLResponse, @escaping Reply) -> Void = { $2($1) }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping Reply
    ) {
        note(.willCache(dataTask.taskIdentifier, proposedResponse.data.count), session, dataTask)
        keep(dataTask, proposedResponse, completionHandler)
    }
}
