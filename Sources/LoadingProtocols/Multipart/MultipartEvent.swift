package import LoadingSemantics

/// One step of a multipart body.
package enum MultipartEvent {
    case partHead(HTTPFields)
    /// Bytes of a part's body, never none. They lie in the input, or in the parser: valid until its next call.
    case body(UnsafeRawBufferPointer)
    case partEnd
    /// Nothing follows. False if the input ended without the closing delimiter, as streams that are cut off do.
    case end(isClosed: Bool)
}
