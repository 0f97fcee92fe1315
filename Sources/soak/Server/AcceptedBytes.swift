import Foundation

/// The number of bytes of the current counted body that the server's kernel has accepted.
final class AcceptedBytes: @unchecked Sendable {
    // Sendable because `value` is guarded by `lock`.
    private let lock = NSLock()
    private var value = 0

    var total: Int {
        get { lock.withLock { value } }
        set { lock.withLock { value = newValue } }
    }
}
