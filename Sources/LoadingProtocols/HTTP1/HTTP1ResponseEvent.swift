package import LoadingSemantics

/// What the parser has to know of a request to find the end of its response.
package enum HTTP1RequestKind: Sendable, Equatable {
    /// HEAD: the response never has a body.
    case head
    /// CONNECT: a 2xx turns the connection into a tunnel.
    case connect
    /// The request carries `Upgrade`: 101 hands the connection over.
    case upgrade
    case other
}

/// How the end of a response's body is found (RFC 9112 §6.3).
package enum HTTP1BodyLength: Sendable, Equatable {
    /// Never a body: HEAD, 204, 304.
    case none
    case known(Int64)
    case chunked
    case untilClose
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

/// One step of a response, in the order of the wire.
package enum HTTP1ResponseEvent {
    /// A 1xx other than 101. A final response follows.
    case informational(HTTP1ResponseHead)
    case head(HTTP1ResponseHead, HTTP1BodyLength)
    /// Body bytes, never none. A slice of the input, valid as long as the input is.
    case body(UnsafeRawBufferPointer)
    case end(HTTP1End)
    /// 101 to an upgrade, or 2xx to CONNECT: the exchange is over and every further byte belongs to the new protocol.
    case switchedProtocol(HTTP1ResponseHead)
}
