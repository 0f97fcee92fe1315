/// The close codes of WebSockets (RFC 6455 §7.4.1, IANA's registry), in words.
package enum CloseCodeText {
    /// `1000 (normal closure)`; `no code` for 1005.
    package static func described(_ code: Int) -> String {
        if code == 1005 { return "no code" }
        return name(code).map { "\(code) (\($0))" } ?? "\(code)"
    }

    private static func name(_ code: Int) -> String? {
        switch code {
        case 1000: "normal closure"
        case 1001: "going away"
        case 1002: "protocol error"
        case 1003: "unsupported data"
        case 1007: "invalid payload"
        case 1008: "policy violation"
        case 1009: "message too big"
        case 1010: "extension missing"
        case 1011: "internal error"
        case 1012: "service restart"
        case 1013: "try again later"
        case 1014: "bad gateway"
        default: nil
        }
    }
}
