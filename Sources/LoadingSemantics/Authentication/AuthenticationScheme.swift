/// An authentication scheme (RFC 9110 §11.1) that sessions support. Others are ignored (AUTH-15).
package enum AuthenticationScheme: UInt8, Sendable, CaseIterable {
    /// RFC 7617
    case basic
    /// RFC 7616
    case digest
    case ntlm
    /// RFC 4559
    case negotiate

    /// In the order in which they are tried (AUTH-16).
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

    /// The scheme as it is written in front of credentials.
    package var name: String {
        switch self {
        case .basic: "Basic"
        case .digest: "Digest"
        case .ntlm: "NTLM"
        case .negotiate: "Negotiate"
        }
    }

    /// Whether the scheme authenticates the connection, with several messages, and not each request (AUTH-19).
    package var authenticatesConnection: Bool { self == .ntlm || self == .negotiate }
}
