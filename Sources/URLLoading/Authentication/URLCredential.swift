public import Foundation
internal import LoadingTransport

/// A credential: a user name and password, a client certificate, or the acceptance of a server's trust. Immutable and
/// thread-safe.
open class URLCredential: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: constants only. Certificates are read at creation.
    private let name: String?
    private let secret: String?
    private let lifetime: Persistence
    private let clientIdentity: SecIdentity?
    private let clientCertificates: [SecCertificate]
    let serverTrust: SecTrust?

    /// How long an accepted credential is stored.
    @frozen public enum Persistence: UInt, Sendable {
        /// It is not stored.
        case none = 0
        /// In memory.
        case forSession = 1
        /// Persistently, until it is removed.
        case permanent = 2
        /// Like `permanent`, and on the user's other devices. Not supported on Linux.
        case synchronizable = 3
    }

    /// A credential without contents, for tests.
    public override init() {
        name = nil
        secret = nil
        lifetime = .none
        clientIdentity = nil
        clientCertificates = []
        serverTrust = nil
    }

    /// Creates a credential with user name and password.
    public init(user: String, password: String, persistence: Persistence) {
        name = user
        secret = password
        lifetime = persistence
        clientIdentity = nil
        clientCertificates = []
        serverTrust = nil
    }

    /// Creates a credential with a client certificate.
    ///
    /// - Parameters:
    ///   - identity: The certificate and its key.
    ///   - certArray: The intermediate certificates to send, as `SecCertificate`; nil for those of the identity.
    ///   - persistence: Ignored: client certificates are never stored.
    public init(identity: SecIdentity, certificates certArray: [Any]?, persistence: Persistence) {
        name = nil
        secret = nil
        lifetime = persistence
        clientIdentity = identity
        clientCertificates = certArray?.compactMap { $0 as? SecCertificate } ?? identity.intermediates
        serverTrust = nil
    }

    /// Creates the answer to a ``NSURLAuthenticationMethodServerTrust`` challenge that accepts the server, whatever the
    /// result of an evaluation.
    public init(trust: SecTrust) {
        name = nil
        secret = nil
        lifetime = .forSession
        clientIdentity = nil
        clientCertificates = []
        serverTrust = trust
    }

    /// The same as ``init(trust:)``.
    public convenience init(forTrust trust: SecTrust) { self.init(trust: trust) }

    /// A user name without password, as a hint.
    package init(user: String) {
        name = user
        secret = nil
        lifetime = .none
        clientIdentity = nil
        clientCertificates = []
        serverTrust = nil
    }

    private enum Key {
        static let user = "user"
        static let password = "password"
        static let persistence = "persistence"
    }

    /// Keys of the toolchain's FoundationNetworking, whose archives use the same class name.
    private enum ToolchainKey {
        static let user = "NS._user"
        static let password = "NS._password"
        static let persistence = "NS._persistence"
    }

    /// Decodes an archive of this module or of the toolchain's FoundationNetworking. Nil for any other archive.
    public required init?(coder: NSCoder) {
        guard coder.allowsKeyedCoding else { return nil }
        let isOwn = coder.containsValue(forKey: Key.persistence)
        let value =
            isOwn
            ? UInt(truncatingIfNeeded: coder.decodeInt64(forKey: Key.persistence))
            : coder.number(forKey: ToolchainKey.persistence)?.uintValue
        guard let persistence = value.flatMap({ Persistence(rawValue: $0) }) else { return nil }
        name = coder.string(forKey: isOwn ? Key.user : ToolchainKey.user)
        secret = coder.string(forKey: isOwn ? Key.password : ToolchainKey.password)
        lifetime = persistence
        clientIdentity = nil
        clientCertificates = []
        serverTrust = nil
    }

    /// Always true.
    open class var supportsSecureCoding: Bool { true }

    /// Archives use Apple's name of the class.
    open override var classForKeyedArchiver: AnyClass? { archivedClass }

    /// Encodes the password in plain text, so archives must be protected. Identity and trust are not archived.
    open func encode(with coder: NSCoder) {
        coder.encode(name.map { $0 as NSString }, forKey: Key.user)
        coder.encode(secret.map { $0 as NSString }, forKey: Key.password)
        coder.encode(Int64(lifetime.rawValue), forKey: Key.persistence)
    }

    /// Returns self, because credentials are immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// How long the credential is stored.
    open var persistence: Persistence { lifetime }

    /// The user name, or nil if this is not a password credential.
    open var user: String? { name }

    /// The password, or nil if there is none.
    open var password: String? { secret }

    /// Whether there is a password. A credential without one is a hint of the user name.
    open var hasPassword: Bool { secret != nil }

    /// The client certificate with its key, or nil.
    open var identity: SecIdentity? { clientIdentity }

    /// The intermediate certificates that are sent with the identity.
    open var certificates: [Any] { clientCertificates }

    /// The identity for the TLS handshake.
    var tlsIdentity: TLSIdentity? { clientIdentity?.tlsIdentity(with: clientCertificates) }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? URLCredential else { return false }
        return other === self
            || other.name == name && other.secret == secret && other.lifetime == lifetime
                && other.clientIdentity == clientIdentity && other.clientCertificates == clientCertificates
                && other.serverTrust === serverTrust
    }

    open override var hash: Int { name.hashValue }

    /// Without the password, because descriptions are written to logs.
    open override var description: String { "<\(type(of: self)): \(name ?? "no user")>" }
}
