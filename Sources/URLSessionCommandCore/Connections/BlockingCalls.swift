import Dispatch

/// Performs calls that block, such as reading standard input, on a thread outside of Swift's pool, one after another. A
/// call that never returns delays neither other work nor the end of the process.
struct BlockingCalls: Sendable {
    private let queue: DispatchQueue

    init(_ label: String) {
        queue = DispatchQueue(label: label)
    }

    func run<Value: Sendable>(_ call: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: call()) }
        }
    }
}
