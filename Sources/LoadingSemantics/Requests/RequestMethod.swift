/// Properties of request methods (RFC 9110 §9.2).
package enum RequestMethod {
    /// Upper-cases the methods that Apple's loader upper-cases. Others are unchanged, because methods are
    /// case-sensitive (RFC 9110 §9.1): `patch` is not `PATCH` (MISC-22).
    package static func canonical(_ method: String) -> String {
        let upper = method.uppercased()
        return upperCased.contains(upper) ? upper : method
    }

    package static func isSafe(_ method: String) -> Bool {
        switch method {
        case "GET", "HEAD", "OPTIONS", "TRACE": true
        default: false
        }
    }

    /// Whether repeating the request has the same effect as sending it once (RFC 9110 §9.2.2).
    package static func isIdempotent(_ method: String) -> Bool {
        isSafe(method) || method == "PUT" || method == "DELETE"
    }

    private static let upperCased: Set = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT"]
}
