package import FoundationEssentials

/// A background session, as its configuration describes it. What is not named here has the defaults of a session.
package struct SessionDescription: Codable, Equatable, Sendable {
    package var identifier: String
    /// The session object of the program, by a random number. It has a spool of its own, so that nothing that it writes
    /// after another one has attached is carried out.
    package var owner: UInt64 = 0
    package var maximumPerHost = 6
    /// Raw values of `tls_protocol_version_t`.
    package var minimumTLS: UInt16 = 0x0303
    package var maximumTLS: UInt16 = 0x0304
    /// A property list with the proxy dictionary; nil for the system's settings.
    package var proxies: Data?
    /// A property list with the program's `NSAppTransportSecurity`.
    package var transportSecurity: Data?
    package var usesCookies = true
    /// A raw value of `HTTPCookie.AcceptPolicy`.
    package var cookiePolicy = 2
    /// Whether the cookies and credentials are the program's stored ones (BG-24); else it has none.
    package var hasStoredCookies = true
    package var hasStoredCredentials = true
    /// The group whose cookies are used; nil for the program's own.
    package var group: String?
    /// The value of `User-Agent`.
    package var userAgent: String?
    /// Whether the delegate decides about server trust. Then a handshake waits for the program.
    package var asksServerTrust = false
    /// Whether the delegate is then asked for client certificates too. Nil for programs with earlier versions of the
    /// library, which do not know such challenges.
    package var givesIdentities: Bool?
    /// Names the delegate's class and the executable, whose delegates all ask or do not; and whether the program does
    /// not know yet which, so that what an earlier process has found out is valid, if any has.
    package var delegateKind: String?
    package var isTrustUnknown = false
    /// How the program is launched for events; nil if it is not (C-16).
    package var launch: LaunchMethod?

    package init(identifier: String) { self.identifier = identifier }

    /// Whether the loads of both use the same pool and stores. The other values are about the program.
    func hasSameEnvironment(as other: SessionDescription) -> Bool {
        var copy = other
        (copy.owner, copy.launch, copy.delegateKind) = (owner, launch, delegateKind)
        (copy.asksServerTrust, copy.isTrustUnknown, copy.givesIdentities) = (
            asksServerTrust, isTrustUnknown, givesIdentities
        )
        return copy == self
    }
}

/// How a program is launched when its transfers need it (BG-11).
package enum LaunchMethod: Codable, Hashable, Sendable {
    /// The path of a program, and its arguments.
    case command([String])
    /// A unit of the user's systemd.
    case systemdUnit(String)
    /// A name on the session bus, whose service is activated.
    case busName(String)
}
