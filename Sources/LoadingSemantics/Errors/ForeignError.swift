/// An error that passes through the engine as it is. Equal only to itself: of two errors nobody can say more.
package final class ForeignError: Sendable, Equatable {
    package let error: any Error

    package init(_ error: any Error) { self.error = error }

    package static func == (left: ForeignError, right: ForeignError) -> Bool { left === right }
}
