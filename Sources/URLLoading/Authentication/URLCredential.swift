public import Foundation
internal import LoadingTransport

/// What proves who the user is: a name and a password, or a certificate with its key. Or the word of the user that a
/// server is to be trusted. Immutable and safe to use from any thread.
open class URLCredential: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: constants only; the certificates of others are read when the credential is made.
    private let name: String?
    private let secret: String?
    private let lifetime: Persistence
    private let clientIdentity: SecIdentity?
    private let clientCertificates: [SecCertificate]
    let serverTrust: SecTrust?

    /// How long a credential is kept once a server has accepted it.
    public enum Persistence: UInt, Sendable {
        /// Not at all.
        case none = 0
        /// As long as the session lives.
        case forSession = 1
        /// Until it is removed, also across launches.
        case permanent = 2
        /// As `permanent`, and on the user's other devices. On Linux nothing carries it there.
        case synchronizable = 3
    }

    /// A name and a password.
    public init(user: String, password: String, persistence: Persistence) {
        name = user
        secret = password
        lifetime = persistence
        clientIdentity = nil
        clientCertificates = []
        serverTrust = nil
    }

    /// A certificate with its key, for a server that asks for one.
    ///
    /// - Parameters:
    ///   - certArray: What to send with it, between it and its root, as `SecCertificate`; nil for those that came with
    ///     the identity.
    ///   - persistence: Says nothing: such a credential is never stored.
    public init(identity: SecIdentity, certificates certArray: [Any]?, persistence: Persistence) {
        name = nil
        secret = nil
        lifetime = persistence
        clientIdentity = identity
        clientCertificates = certArray?.compactMap { $0 as? SecCertificate } ?? identity.intermediates
        serverTrust = nil
    }

    /// The answer to a challenge of the kind ``NSURLAuthenticationMethodServerTrust``: the server is trusted, whatever
    /// an evaluation says.
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

    /// A name alone: a hint.
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

    /// Those of the toolchain's module, whose archives name the class in the same way.
    private enum ToolchainKey {
        static let user = "NS._user"
        static let password = "NS._password"
        static let persistence = "NS._persistence"
    }

    /// Reads what `encode(with:)` wrote, here or in the toolchain's module. Nil for any other archive.
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

    open class var supportsSecureCoding: Bool { true }

    /// In archives the class has Apple's name.
    open override var classForKeyedArchiver: AnyClass? { archivedClass }

    /// Writes the password in clear: where the archive goes is the caller's care. Identity and trust are not written.
    open func encode(with coder: NSCoder) {
        coder.encode(name.map { $0 as NSString }, forKey: Key.user)
        coder.encode(secret.map { $0 as NSString }, forKey: Key.password)
        coder.encode(Int64(lifetime.rawValue), forKey: Key.persistence)
    }

    /// The same object, since it never changes.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// How long to keep it.
    open var persistence: Persistence { lifetime }

    /// The name, or nil if this is no password credential.
    open var user: String? { name }

    /// The password, or nil if there is none or the user refused to give it.
    open var password: String? { secret }

    /// Whether there is a password, without asking for it. A credential without one is a hint of the name.
    open var hasPassword: Bool { secret != nil }

    /// The client's certificate with its key, or nil.
    open var identity: SecIdentity? { clientIdentity }

    /// What is sent with the identity's certificate.
    open var certificates: [Any] { clientCertificates }

    /// The identity as a handshake shows it.
    var tlsIdentity: TLSIdentity? { clientIdentity?.tlsIdentity(with: clientCertificates) }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? URLCredential else { return false }
        return other === self
            || other.name == name && other.secret == secret && other.lifetime == lifetime
                && other.clientIdentity == clientIdentity && other.clientCertificates == clientCertificates
                && other.serverTrust === serverTrust
    }

    open override var hash: Int { name.hashValue }

    /// The name only: a password has no place in a log.
    open override var description: String { "<\(type(of: self)): \(name ?? "no user")>" }
}
