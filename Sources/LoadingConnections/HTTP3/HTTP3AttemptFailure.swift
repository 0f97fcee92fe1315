internal import LoadingSemantics

/// Why there is no HTTP/3 connection.
struct HTTP3AttemptFailure: Error {
    var error: LoadError
    /// Whether the server answered, and was not trusted, or did not get to know whom it speaks with.
    var isRefusal: Bool

    /// Whether it is to be held against the server, or against the way to it. What this machine lacks is not.
    var isOfServer: Bool { !error.isDescriptorShortage && !error.isNoRoute }
}
