/// A wait has timed out.
package struct DeadlineExceeded: Error, CustomStringConvertible {
    package let awaited: String
    package let deadline: Duration
    /// The observed state at the deadline, if known.
    package let seen: String?

    package init(awaited: String, deadline: Duration, seen: String? = nil) {
        self.awaited = awaited
        self.deadline = deadline
        self.seen = seen
    }

    package var description: String {
        "waited \(deadline) in vain for \(awaited)" + (seen.map { "; seen until then: \($0)" } ?? "")
    }
}

extension Duration {
    /// How long a test waits for an event before it fails. Passing tests do not wait this long.
    package static let testDeadline = Duration.seconds(30)
}
