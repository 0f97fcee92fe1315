/// What is known of request methods (RFC 9110 §9.2).
package enum RequestMethod {
    /// Upper-case if it is one of the methods that Apple's loader upper-cases, else unchanged: methods are case-sensitive
    /// (RFC 9110 §9.1), so `patch` is another method than `PATCH` (MISC-22).
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

    /// Whether doing it twice is doing it once.
    package static func isIdempotent(_ method: String) -> Bool {
        isSafe(method) || method == "PUT" || method == "DELETE"
    }

    private static let upperCased: Set = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT"]
}
