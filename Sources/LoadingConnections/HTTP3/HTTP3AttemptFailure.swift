internal import LoadingSemantics

/// Why an attempt produced no HTTP/3 connection.
struct HTTP3AttemptFailure: Error {
    var error: LoadError
    /// Whether the server answered, but was not trusted, or did not learn the client's identity.
    var isRefusal: Bool

    /// Whether the failure counts against the server or the network path to it. A resource or route that this machine
    /// lacks does not count.
    var isOfServer: Bool { !error.isDescriptorShortage && !error.isNoRoute }
}
