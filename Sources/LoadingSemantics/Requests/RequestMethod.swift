/// What is known of request methods (RFC 9110 §9.2).
package enum RequestMethod {
    /// Upper-case if it is one of the standard's in another case, else unchanged (MISC-22).
    package static func canonical(_ method: String) -> String {
        let upper = method.uppercased()
        return standard.contains(upper) ? upper : method
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

    private static let standard: Set = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
    ]
}
