import Foundation

/// A value behind a lock, as programs have it that cannot use actors everywhere.
final class Locked<Value>: @unchecked Sendable {
    // Sendable because `lock` guards the value.
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    var current: Value { lock.withLock { value } }

    func change(_ body: (inout Value) -> Void) { lock.withLock { body(&value) } }
}
