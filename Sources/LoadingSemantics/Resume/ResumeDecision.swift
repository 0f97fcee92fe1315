/// What becomes of the file when a resumed download is answered.
package enum ResumeDecision: Sendable, Equatable {
    /// The body goes behind what is there; `total` is that of the whole, if known (RES-4, RES-11). The resume point stays
    /// good, with more bytes received.
    case append(offset: Int64, total: Int64?)
    /// The body takes the place of what is there (RES-5, RES-6).
    case replace
    /// The response is dropped, and the request is sent again without `Range` and `If-Range` (RES-6, RES-7).
    case restart
    case fail(LoadError)
}
