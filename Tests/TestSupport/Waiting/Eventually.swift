/// Polls a condition, for changes without a notification.
package func eventually(
    within deadline: Duration = .testDeadline, _ isSo: @Sendable () async -> Bool
) async throws {
    let end = ContinuousClock.now + deadline
    while await !isSo() {
        if ContinuousClock.now > end { throw DeadlineExceeded(awaited: "a condition", deadline: deadline) }
        try await Task.sleep(for: .milliseconds(1))
    }
}
