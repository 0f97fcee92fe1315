import Foundation
import URLLoading

/// Maps the tasks of a session to requests.
final class RequestIndex: @unchecked Sendable {
    // Sendable because the mutable state is guarded by `lock`.
    private let lock = NSLock()
    private var requests: [Int: SoakRequest] = [:]

    static let field = "X-Soak"

    func add(_ request: SoakRequest) { lock.withLock { requests[request.plan.index] = request } }

    func request(of task: URLSessionTask) -> SoakRequest? {
        guard let index = task.originalRequest?.value(forHTTPHeaderField: Self.field).flatMap({ Int($0) }) else {
            return nil
        }
        return lock.withLock { requests[index] }
    }
}
