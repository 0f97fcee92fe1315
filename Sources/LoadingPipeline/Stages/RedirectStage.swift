internal import LoadingConnections
internal import LoadingSemantics

/// Follows redirects: makes the next request of a 3xx response, and counts.
struct RedirectStage {
    private(set) var count = 0

    /// The request that a response leads to; nil when it is a response like any other.
    mutating func next(for response: LoadResponse, to request: LoadRequest) throws(LoadError) -> LoadRequest? {
        nil
    }
}
