package import LoadingSemantics

/// One step of a response, in the order of the wire.
package enum HTTP1ResponseEvent {
    /// A 1xx other than 101. A final response follows.
    case informational(ResponseHead)
    case head(ResponseHead, HTTP1BodyLength)
    /// Body bytes, never none. A slice of the input, valid as long as the input is.
    case body(UnsafeRawBufferPointer)
    case end(HTTP1End)
    /// 101 to an upgrade, or 2xx to CONNECT: the exchange is over and every further byte belongs to the new protocol.
    case switchedProtocol(ResponseHead)
}

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
