import Foundation
import LoadingEvents
import URLLoading

/// The session of several loads that run one after the other, so that they share connections and cookies.
///
/// Unchecked: `lock` guards the mutable state. Heads and events arrive on the session's loop.
final class SharedSession: @unchecked Sendable {
    private let lock = NSLock()
    private var session: URLSession?
    private var observer: (@Sendable (MessageHead) -> Void)?
    private var events: (@Sendable (LoadEvent) -> Void)?

    /// The session, made for the first load with its configuration.
    ///
    /// - Parameters:
    ///   - observer: Is called with the heads of the next load.
    ///   - events: Is called with its events; nil for all loads or for none.
    func session(
        _ configuration: URLSessionConfiguration, observer: @escaping @Sendable (MessageHead) -> Void,
        events: (@Sendable (LoadEvent) -> Void)?
    ) -> URLSession {
        lock.withLock {
            self.observer = observer
            self.events = events
            if let session { return session }
            configuration.headObserver = { [weak self] head in
                let observer = self?.lock.withLock { self?.observer }
                observer?(head)
            }
            if events != nil {
                configuration.eventObserver = { [weak self] event in
                    let observer = self?.lock.withLock { self?.events }
                    observer?(event)
                }
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
            events = nil
        }
    }
}
