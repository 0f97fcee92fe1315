internal import CTestGSSAPI
internal import Foundation

/// A server of the Kerberos realm, or of NTLM, that checks channel bindings. It accepts one client. Used by one thread
/// at a time.
package final class GSSAcceptor {
    package enum Scheme: String, Sendable {
        /// With Kerberos.
        case negotiate = "Negotiate"
        /// The users are in the file that the environment variable `NTLM_USER_FILE` names.
        case ntlm = "NTLM"
    }

    package enum Outcome: Sendable, Equatable {
        case continues([UInt8])
        /// `isBound`: whether the client has the same channel bindings.
        case accepted([UInt8], isBound: Bool)
        case refused
    }

    private let pointer: OpaquePointer

    /// - Parameter bindings: The application data of the channel bindings; nil to accept any.
    package init(_ scheme: Scheme, of realm: KerberosRealm, bindings: [UInt8]?) throws {
        let keytab = scheme == .negotiate ? realm.keytab.path : nil
        guard let pointer = ctg_acceptor_create(keytab, bindings, bindings?.count ?? 0) else {
            throw KerberosRealm.StartFailure(description: "no acceptor for \(scheme.rawValue)")
        }
        self.pointer = pointer
    }

    deinit { ctg_acceptor_free(pointer) }

    package func accept(_ token: [UInt8]) -> Outcome {
        var (answer, count, isBound) = (UnsafePointer<UInt8>?.none, 0, false)
        let outcome = ctg_accept(pointer, token, token.count, &answer, &count, &isBound)
        let bytes = Array(UnsafeBufferPointer(start: answer, count: count))
        switch outcome {
        case CTG_CONTINUES: return .continues(bytes)
        case CTG_ACCEPTED: return .accepted(bytes, isBound: isBound)
        default: return .refused
        }
    }

    /// The bytes of a field such as `Negotiate YII…`; nil if it is another.
    package static func token(_ scheme: Scheme, in field: String?) -> [UInt8]? {
        guard let field, field.hasPrefix(scheme.rawValue + " ") else { return nil }
        return Data(base64Encoded: String(field.dropFirst(scheme.rawValue.utf8.count + 1))).map { [UInt8]($0) }
    }
}
