/// How the response to a resumed download continues the file.
package enum ResumeDecision: Sendable, Equatable {
    /// The body is appended. `total` is the length of the whole resource, if known (RES-4, RES-11). The resume point
    /// stays valid.
    case append(offset: Int64, total: Int64?)
    /// The body replaces the file (RES-5, RES-6).
    case replace
    /// The response is discarded, and the request is repeated without `Range` and `If-Range` (RES-6, RES-7).
    case restart
    case fail(LoadError)
}
