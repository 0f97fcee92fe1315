/// What stands between the method and the version in a request line (RFC 9112 §3.2).
///
/// A fragment and user information have no place here, so neither can be sent (MISC-27). Every part is already
/// percent-encoded.
package enum HTTP1RequestTarget: Sendable, Equatable {
    /// To a server: path and query. An empty path is sent as "/".
    case origin(path: String, query: String?)
    /// To a proxy: the URL without fragment and user information.
    case absolute(scheme: String, authority: String, path: String, query: String?)
    /// CONNECT: host and port.
    case authority(String)
    /// OPTIONS for the server as a whole.
    case asterisk
}
