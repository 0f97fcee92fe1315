package import LoadingStorage

/// What is done to a store, step by step, and what it has after each: done by a process that is killed on the way, and
/// known by the test that looks at what is left.
package protocol StorageSteps {
    /// The state of a store, as seen from outside.
    associatedtype State: Equatable & Sendable

    init(in directory: StorageDirectory)

    static var count: Int { get }
    /// False if it could not be done.
    func perform(_ step: Int) -> Bool
    /// What the store has when the first so many steps are done.
    static func state(after steps: Int) -> State
    func state() -> State
}

/// The stores that there are.
package enum StorageKind: String, CaseIterable, Sendable {
    case cookies
    case hosts
    case alternatives
    case credentials
    case responses
}
