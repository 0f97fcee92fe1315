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
