/// A way to prove who the user is (RFC 9110 §11.1), as far as sessions know them. Any other is ignored (AUTH-15).
package enum AuthenticationScheme: UInt8, Sendable, CaseIterable {
    /// RFC 7617
    case basic
    /// RFC 7616
    case digest
    case ntlm
    /// RFC 4559
    case negotiate

    /// The one to try first comes first (AUTH-16).
    package static let byPreference: [AuthenticationScheme] = [.negotiate, .ntlm, .digest, .basic]

    /// - Parameter name: In any case.
    package init?(_ name: String) {
        switch name.lowercased() {
        case "basic": self = .basic
        case "digest": self = .digest
        case "ntlm": self = .ntlm
        case "negotiate": self = .negotiate
        default: return nil
        }
    }

    /// As it is written in front of credentials.
    package var name: String {
        switch self {
        case .basic: "Basic"
        case .digest: "Digest"
        case .ntlm: "NTLM"
        case .negotiate: "Negotiate"
        }
    }

    /// Whether it is the connection that is proved to be the user's, in several legs, and not each request (AUTH-19).
    package var authenticatesConnection: Bool { self == .ntlm || self == .negotiate }
}
