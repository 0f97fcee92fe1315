internal import LoadingSemantics

/// Why none of an origin's addresses was reached.
enum AddressRaceFailure: Error {
    /// The process or the machine has no descriptor left, or no thread to ask with.
    case noDescriptor
    case unreachable(LoadError)
}
