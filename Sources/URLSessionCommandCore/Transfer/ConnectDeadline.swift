import Dispatch
import Foundation
import LoadingEvents

/// The time limit of `--connect-timeout`: from the start of a request until its connection carries it.
///
/// Unchecked: `lock` guards the mutable state. The timer and the heads of requests come on different threads.
final class ConnectDeadline: @unchecked Sendable {
    private let seconds: Double
    private let queue = DispatchQueue(label: "urlsession.connect")
    private let lock = NSLock()
    private var expiry: DispatchWorkItem?

    init(_ seconds: Double) { self.seconds = seconds }

    /// Calls `expired` on a private queue if `disarm` is not called in time.
    func arm(_ expired: @escaping @Sendable () -> Void) {
        let item = DispatchWorkItem(block: expired)
        lock.withLock {
            expiry?.cancel()
            expiry = item
        }
        queue.asyncAfter(deadline: .now() + seconds, execute: item)
    }

    func observe(_ head: MessageHead) {
        if !head.isOfTunnel, case .request = head.start { disarm() }
    }

    /// FTP has no heads. The connections of the other protocols may still need a tunnel when they are assigned.
    func observe(_ event: LoadEvent) {
        if case .connectionAssigned(let facts) = event.kind, facts.protocolName == "ftp" { disarm() }
    }

    func disarm() {
        lock.withLock {
            expiry?.cancel()
            expiry = nil
        }
    }
}
