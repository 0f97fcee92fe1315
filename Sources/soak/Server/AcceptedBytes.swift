import Foundation

/// How many bytes of the current counted body the kernel has taken from the server.
final class AcceptedBytes: @unchecked Sendable {
    // Sendable because `value` is guarded by `lock`.
    private let lock = NSLock()
    private var value = 0

    var total: Int {
        get { lock.withLock { value } }
        set { lock.withLock { value = newValue } }
    }
}
