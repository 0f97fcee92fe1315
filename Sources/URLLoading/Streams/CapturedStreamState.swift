internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingTransport

/// How far one of the two streams of a captured connection is, and its part of the connection until it is closed.
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

    /// While it is open.
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

    /// What has to be closed, the first time.
    func close() -> CapturedConnection? {
        lock.withLock {
            currentStatus = .closed
            defer { held = nil }
            return held
        }
    }
}
