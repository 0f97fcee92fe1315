package import LoadingSemantics

/// The end of a response.
package struct HTTP1End: Sendable, Equatable {
    /// The trailer section of a chunked body, apart from the fields on purpose: a trailer is never merged into them.
    package var trailers: HTTPFields?
    /// Whether the response's framing and its `Connection` field leave the connection fit for another request.
    package var mayReuse: Bool

    package init(trailers: HTTPFields? = nil, mayReuse: Bool) {
        self.trailers = trailers
        self.mayReuse = mayReuse
    }
}
