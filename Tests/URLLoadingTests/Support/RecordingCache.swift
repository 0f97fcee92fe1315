import Foundation
import TestSupport
import URLLoading

/// A `URLCache` subclass in memory that records the calls of tasks.
final class RecordingCache: URLCache, @unchecked Sendable {
    // Sendable: what it adds never changes, or guards itself.
    let calls = EventRecorder<String>()
    private let answersLater: Bool

    init(answersLater: Bool = false) {
        self.answersLater = answersLater
        super.init(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
    }

    override func getCachedResponse(
        for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        calls.record("get")
        super.getCachedResponse(for: dataTask) { [answersLater] found in
            guard answersLater else { return completionHandler(found) }
            DispatchQueue.global().async { completionHandler(found) }
        }
    }

    override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
        calls.record("store")
        super.storeCachedResponse(cachedResponse, for: dataTask)
    }

    override func removeCachedResponse(for request: URLRequest) {
        calls.record("remove")
        super.removeCachedResponse(for: request)
    }
}
