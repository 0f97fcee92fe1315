internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingTransport

/// The state of one stream of a captured connection, with a reference to the connection until the stream is closed.
final class CapturedStreamState: @unchecked Sendable {
    // Sendable because everything mutable is guarded by `lock`.
    private let lock = Lock()
    private var held: CapturedConnection?
    private var currentStatus = Stream.Status.notOpen
    private var failure: POSIXFailure?

    init(_ connection: CapturedConnection?) { held = connection }

    var status: Stream.Status { lock.withLock { currentStatus } }

    var error: (any Error)? {
        lock.withLock { failure }.map { NSError(domain: NSPOSIXErrorDomain, code: Int($0.code)) }
    }

    var isAtEnd: Bool { status == .atEnd }

    /// The connection, while the stream is open.
    var connection: CapturedConnection? { lock.withLock { currentStatus == .open ? held : nil } }

    func open() {
        lock.withLock { if currentStatus == .notOpen { currentStatus = held == nil ? .error : .open } }
    }

    func end() { lock.withLock { if currentStatus == .open { currentStatus = .atEnd } } }

    func fail(_ failure: POSIXFailure?) {
        lock.withLock {
            guard currentStatus == .open else { return }
            currentStatus = .error
            self.failure = failure
        }
    }

    /// Closes the stream. Returns the connection to close on the first call, then nil.
    func close() -> CapturedConnection? {
        lock.withLock {
            currentStatus = .closed
            defer { held = nil }
            return held
        }
    }
}
