import Dispatch
import Foundation

/// When a connection was last active, from any thread.
final class ConnectionActivity: @unchecked Sendable {
    // Sendable because the lock guards all values.

    private let lock = NSLock()
    private var last = DispatchTime.now().uptimeNanoseconds
    private var writes = 0

    /// Something was sent or received.
    func note() {
        lock.withLock { last = DispatchTime.now().uptimeNanoseconds }
    }

    /// Writes output. As long as that takes, the connection counts as active: its silence is the reader's fault.
    func whileWriting<Value>(_ write: () async throws(FileError) -> Value) async throws(FileError) -> Value {
        lock.withLock { writes += 1 }
        defer {
            lock.withLock {
                writes -= 1
                last = DispatchTime.now().uptimeNanoseconds
            }
        }
        return try await write()
    }

    /// Seconds without activity.
    var silence: Double {
        lock.withLock {
            writes > 0 ? 0 : Double(DispatchTime.now().uptimeNanoseconds - last) / 1e9
        }
    }
}
