public import Foundation

/// The part of a server, or the proxy, that asks for authentication. Immutable and safe to use from any thread.
open class URLProtectionSpace: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: constants only; a trust takes calls from any thread.
    private let values: Values
    private let trust: SecTrust?

    /// What tells one space from another.
    private struct Values: Hashable {
        var host: String
        var port: Int
        var scheme: String?
        var proxyType: String?
        var realm: String?
        var method: String
        var distinguishedNames: [Data]?
    }

    /// A space on a server.
    ///
    /// - Parameters:
    ///   - port: 0 stands for the usual port of the protocol.
    ///   - protocol: such as ``NSURLProtectionSpaceHTTPS``.
    ///   - realm: the name the server gave the space.
    ///   - authenticationMethod: one of the `NSURLAuthenticationMethod…` constants; nil is the default method.
    public init(host: String, port: Int, protocol: String?, realm: String?, authenticationMethod: String?) {
        values = Values(
            host: host, port: port, scheme: `protocol`, proxyType: nil, realm: realm,
            method: authenticationMethod ?? NSURLAuthenticationMethodDefault, distinguishedNames: nil)
        trust = nil
    }

    /// A space of a proxy.
    ///
    /// - Parameter type: such as ``NSURLProtectionSpaceHTTPProxy``.
    public init(proxyHost host: String, port: Int, type: String?, realm: String?, authenticationMethod: String?) {
        values = Values(
            host: host, port: port, scheme: nil, proxyType: type, realm: realm,
            method: authenticationMethod ?? NSURLAuthenticationMethodDefault, distinguishedNames: nil)
        trust = nil
    }

    /// A space of the TLS layer of a server that asks for a client certificate.
    ///
    /// - Parameter distinguishedNames: the issuers it accepts, each in DER.
    package init(host: String, port: Int, distinguishedNames: [Data]) {
        values = Values(
            host: host, port: port, scheme: NSURLProtectionSpaceHTTPS, proxyType: nil, realm: nil,
            method: NSURLAuthenticationMethodClientCertificate, distinguishedNames: distinguishedNames)
        trust = nil
    }

    /// A space of the TLS layer of a server that is to be trusted or not.
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

    /// Reads what `encode(with:)` wrote.
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

    open class var supportsSecureCoding: Bool { true }

    /// In archives the class has Apple's name.
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

    /// The same object, since it never changes.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// The host, or the proxy's.
    open var host: String { values.host }

    /// The port; 0 stands for the usual port of the protocol.
    open var port: Int { values.port }

    /// The protocol, or nil for a proxy.
    open var `protocol`: String? { values.scheme }

    /// The kind of proxy, or nil for a server.
    open var proxyType: String? { values.proxyType }

    /// The name the server gave the space, or nil if it has none. In a challenge that asks for a password by Basic and names
    /// no realm: the host.
    open var realm: String? { values.realm }

    /// How to authenticate: one of the `NSURLAuthenticationMethod…` constants.
    open var authenticationMethod: String { values.method }

    /// Whether this is a proxy's space.
    open override func isProxy() -> Bool { values.proxyType != nil }

    /// Whether a password given here cannot be read on the way: over TLS, or by a method that never sends it.
    open var receivesCredentialSecurely: Bool {
        switch values.method {
        case NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
            NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodServerTrust:
            true
        default:
            values.scheme == NSURLProtectionSpaceHTTPS || values.proxyType == NSURLProtectionSpaceHTTPSProxy
        }
    }

    /// The issuers of client certificates the server accepts, each in DER; nil unless it asked for a certificate.
    open var distinguishedNames: [Data]? { values.distinguishedNames }

    /// What the server has shown of itself; nil unless the question is whether to trust it.
    open var serverTrust: SecTrust? { trust }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? URLProtectionSpace else { return false }
        return other === self || other.values == values
    }

    open override var hash: Int { values.hashValue }

    open override var description: String {
        let address = UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
        return "<\(type(of: self)): 0x\(String(address, radix: 16))>: Host:\(values.host), "
            + "Server:\(values.scheme ?? "(null)"), Auth-Scheme:\(Self.shown(values.method)), "
            + "Realm:\(values.realm ?? "(null)"), Port:\(values.port), Proxy:\(isProxy() ? "YES" : "NO"), "
            + "Proxy-Type:\(values.proxyType ?? "(null)")"
    }

    /// A method that nobody knows is asked about by the default one.
    private static func shown(_ method: String) -> String {
        let known = [
            NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodHTMLForm,
            NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
            NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodServerTrust,
        ]
        return known.contains(method) ? method : NSURLAuthenticationMethodDefault
    }
}
