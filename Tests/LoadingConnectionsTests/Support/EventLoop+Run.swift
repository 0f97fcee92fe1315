import LoadingTransport

extension EventLoop {
    /// Runs `body` on the loop and gives what it returns.
    func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in post { continuation.resume(returning: body()) } }
    }
}
