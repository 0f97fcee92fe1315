/// A wait that ended without what was awaited.
package struct DeadlineExceeded: Error, CustomStringConvertible {
    package let awaited: String
    package let deadline: Duration
    /// What had happened until then, where that is known.
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
    /// How long a test waits for an event before it fails. Nothing waits this long when all is well.
    package static let testDeadline = Duration.seconds(10)
}
