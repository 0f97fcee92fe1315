/// The quality of protection (RFC 7616 §3.4.3).
package enum DigestQOP: Sendable, Equatable {
    /// No `qop`: RFC 2069 compatibility, without a cnonce.
    case legacy
    /// `auth`: proves that the client has the password.
    case authentication
    /// `auth-int`: also proves the integrity of the body.
    case integrity

    /// `auth-int` is chosen only if the server offers nothing else, because the body must be read twice (AUTH-18).
    ///
    /// - Parameter options: The `qop` parameter; nil if it is missing.
    init?(options: String?) {
        guard let options else {
            self = .legacy
            return
        }
        let names = options.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
        if names.isEmpty {
            self = .legacy
        } else if names.contains("auth") {
            self = .authentication
        } else if names.contains("auth-int") {
            self = .integrity
        } else {
            return nil
        }
    }

    var name: String? {
        switch self {
        case .legacy: nil
        case .authentication: "auth"
        case .integrity: "auth-int"
        }
    }
}
