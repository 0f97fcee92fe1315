/// An error from outside the engine, passed through unchanged. Equal only to itself, because errors are not comparable
/// in general.
package final class ForeignError: Sendable, Equatable {
    package let error: any Error

    package init(_ error: any Error) { self.error = error }

    package static func == (left: ForeignError, right: ForeignError) -> Bool { left === right }
}
