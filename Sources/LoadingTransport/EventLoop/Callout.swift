/// Application code to be called between two turns, while the loop is lent.
package protocol Callout: AnyObject, Sendable {
    func callOut()
}

/// A closure with application code, called between two turns while the loop is lent.
package final class CalledOut: Callout {
    private let body: @Sendable () -> Void

    package init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    package func callOut() { body() }
}
