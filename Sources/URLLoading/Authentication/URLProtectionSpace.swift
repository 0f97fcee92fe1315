public import Foundation

/// The part of a server, or the proxy, that requires authentication. Immutable and thread-safe.
open class URLProtectionSpace: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: constants only. `SecTrust` is thread-safe.
    private let values: Values
    private let trust: SecTrust?

    /// The properties that determine equality. Hosts compare case-insensitively (RFC 3986 §3.2.2).
    private struct Values: Hashable {
        var host: String
        var port: Int
        var scheme: String?
        var proxyType: String?
        var realm: String?
        var method: String
        var distinguishedNames: [Data]?

        var folded: Values {
            var folded = self
            folded.host = host.lowercased()
            return folded
        }
    }

    /// A protection space without a host, for tests.
    public override init() {
        values = Values(host: "", port: 0, method: NSURLAuthenticationMethodDefault)
        trust = nil
    }

    /// Creates a protection space of a server.
    ///
    /// - Parameters:
    ///   - host: The host name or address.
    ///   - port: The port; 0 for the default port of the protocol.
    ///   - protocol: Such as ``NSURLProtectionSpaceHTTPS``.
    ///   - realm: The realm.
    ///   - authenticationMethod: An `NSURLAuthenticationMethod…` constant; nil for the default method.
    public init(host: String, port: Int, protocol: String?, realm: String?, authenticationMethod: String?) {
        values = Values(
            host: host, port: port, scheme: `protocol`, proxyType: nil, realm: realm,
            method: authenticationMethod ?? NSURLAuthenticationMethodDefault, distinguishedNames: nil)
        trust = nil
    }

    /// Creates a protection space of a proxy.
    ///
    /// - Parameters:
    ///   - host: The host name or address of the proxy.
    ///   - port: The port.
    ///   - type: Such as ``NSURLProtectionSpaceHTTPProxy``.
    ///   - realm: The realm.
    ///   - authenticationMethod: An `NSURLAuthenticationMethod…` constant; nil for the default method.
    public init(proxyHost host: String, port: Int, type: String?, realm: String?, authenticationMethod: String?) {
        values = Values(
            host: host, port: port, scheme: nil, proxyType: type, realm: realm,
            method: authenticationMethod ?? NSURLAuthenticationMethodDefault, distinguishedNames: nil)
        trust = nil
    }

    /// The space of a client certificate request in the TLS handshake.
    ///
    /// - Parameter distinguishedNames: The accepted issuers, each in DER.
    package init(host: String, port: Int, distinguishedNames: [Data]) {
        values = Values(
            host: host, port: port, scheme: NSURLProtectionSpaceHTTPS, proxyType: nil, realm: nil,
            method: NSURLAuthenticationMethodClientCertificate, distinguishedNames: distinguishedNames)
        trust = nil
    }

    /// The space of the server trust evaluation in the TLS handshake.
    package init(host: String, port: Int, serverTrust: SecTrust) {
        values = Values(
            host: host, port: port, scheme: NSURLProtectionSpaceHTTPS, proxyType: nil, realm: nil,
            method: NSURLAuthenticationMethodServerTrust, distinguishedNames: nil)
        trust = serverTrust
    }

    private enum Key {
        static let host = "host"
        static let port = "port"
        static let scheme = "protocol"
        static let proxyType = "proxyType"
        static let realm = "realm"
        static let method = "authenticationMethod"
        static let distinguishedNames = "distinguishedNames"
    }

    /// Decodes an archive.
    public required init?(coder: NSCoder) {
        guard coder.allowsKeyedCoding, let host = coder.string(forKey: Key.host),
            let method = coder.string(forKey: Key.method)
        else { return nil }
        values = Values(
            host: host, port: Int(truncatingIfNeeded: coder.decodeInt64(forKey: Key.port)),
            scheme: coder.string(forKey: Key.scheme), proxyType: coder.string(forKey: Key.proxyType),
            realm: coder.string(forKey: Key.realm), method: method,
            distinguishedNames: coder.array(of: NSData.self, forKey: Key.distinguishedNames) as? [Data])
        trust = nil
    }

    /// Always true.
    open class var supportsSecureCoding: Bool { true }

    /// Archives use Apple's name of the class.
    open override var classForKeyedArchiver: AnyClass? { archivedClass }

    open func encode(with coder: NSCoder) {
        coder.encode(values.host as NSString, forKey: Key.host)
        coder.encode(Int64(values.port), forKey: Key.port)
        coder.encode(values.scheme.map { $0 as NSString }, forKey: Key.scheme)
        coder.encode(values.proxyType.map { $0 as NSString }, forKey: Key.proxyType)
        coder.encode(values.realm.map { $0 as NSString }, forKey: Key.realm)
        coder.encode(values.method as NSString, forKey: Key.method)
        coder.encode(
            values.distinguishedNames.map { $0.map { $0 as NSData } as NSArray }, forKey: Key.distinguishedNames)
    }

    /// Returns self, because protection spaces are immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// The host of the server or proxy.
    open var host: String { values.host }

    /// The port; 0 for the default port of the protocol.
    open var port: Int { values.port }

    /// The protocol, or nil for a proxy.
    open var `protocol`: String? { values.scheme }

    /// The type of the proxy, or nil for a server.
    open var proxyType: String? { values.proxyType }

    /// The realm, or nil. In a Basic challenge without a realm it is the host.
    open var realm: String? { values.realm }

    /// The authentication method, an `NSURLAuthenticationMethod…` constant.
    open var authenticationMethod: String { values.method }

    /// Whether this is the space of a proxy.
    open override func isProxy() -> Bool { values.proxyType != nil }

    /// Whether the password is protected in transit: by TLS, or by a method that does not send it.
    open var receivesCredentialSecurely: Bool {
        switch values.method {
        case NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
            NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodServerTrust:
            true
        default:
            values.scheme == NSURLProtectionSpaceHTTPS || values.proxyType == NSURLProtectionSpaceHTTPSProxy
        }
    }

    /// The accepted issuers of client certificates, each in DER; nil for other challenges.
    open var distinguishedNames: [Data]? { values.distinguishedNames }

    /// The trust object with the server's certificates; nil for other challenges.
    open var serverTrust: SecTrust? { trust }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? URLProtectionSpace else { return false }
        return other === self || other.values.folded == values.folded
    }

    open override var hash: Int { values.folded.hashValue }

    open override var description: String {
        let address = UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
        return "<\(type(of: self)): 0x\(String(address, radix: 16))>: Host:\(values.host), "
            + "Server:\(values.scheme ?? "(null)"), Auth-Scheme:\(Self.shown(values.method)), "
            + "Realm:\(values.realm ?? "(null)"), Port:\(values.port), Proxy:\(isProxy() ? "YES" : "NO"), "
            + "Proxy-Type:\(values.proxyType ?? "(null)")"
    }

    /// An unknown method counts as the default method.
    private static func shown(_ method: String) -> String {
        let known = [
            NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodHTMLForm,
            NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
            NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodServerTrust,
        ]
        return known.contains(method) ? method : NSURLAuthenticationMethodDefault
    }
}
