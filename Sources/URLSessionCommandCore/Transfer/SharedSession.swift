import Foundation
import LoadingEvents
import URLLoading

/// The session of several loads that run one after the other, so that they share connections and cookies.
///
/// Unchecked: `lock` guards the mutable state. Heads arrive on the session's loop.
final class SharedSession: @unchecked Sendable {
    private let lock = NSLock()
    private var session: URLSession?
    private var observer: (@Sendable (MessageHead) -> Void)?

    /// The session, made for the first load with its configuration.
    ///
    /// - Parameter observer: Is called with the heads of the next load.
    func session(
        _ configuration: URLSessionConfiguration, observer: @escaping @Sendable (MessageHead) -> Void
    ) -> URLSession {
        lock.withLock {
            self.observer = observer
            if let session { return session }
            configuration.headObserver = { [weak self] head in
                let observer = self?.lock.withLock { self?.observer }
                observer?(head)
            }
            let new = URLSession(configuration: configuration)
            session = new
            return new
        }
    }

    func end() {
        lock.withLock {
            session?.finishTasksAndInvalidate()
            session = nil
            observer = nil
        }
    }
}
