/// What a Digest response proves (RFC 7616 §3.4.3).
package enum DigestQOP: Sendable, Equatable {
    /// No `qop`: the form of RFC 2069, without nonces of the client.
    case legacy
    /// That the user knows the password.
    case authentication
    /// Also that the body is theirs.
    case integrity

    /// `auth-int` is used only if nothing else is offered, for it means that the body has to be read twice (AUTH-18).
    ///
    /// - Parameter options: What the `qop` parameter says; nil if it is missing.
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
