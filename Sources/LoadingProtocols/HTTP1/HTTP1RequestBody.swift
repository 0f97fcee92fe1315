/// How a request's body is framed.
package enum HTTP1RequestBody: Sendable, Equatable {
    case none
    /// `Content-Length`.
    case known(Int64)
    /// `Transfer-Encoding: chunked`, for a stream whose length nobody knows.
    case chunked
}
