internal import LoadingSemantics

/// Where a session's credentials were accepted, so that they are sent preemptively (AUTH-26). Shared by the loads of
/// the session and confined to their loop. Exclusive access to the entries, which each request looks up, is not
/// checked.
package final class AuthenticationMemory {
    /// The accepted credential of a protection space.
    struct Entry {
        /// Nil for the system's user.
        var credential: LoadCredential?
        var proof: AuthenticationProof
    }

    private var scopes = AuthenticationScopes()
    @exclusivity(unchecked) private var entries: [ProtectionSpace: Entry] = [:]
    /// Credentials accepted by proxies. They apply to all requests through the proxy.
    private var proxies: [Proxy: (space: ProtectionSpace, entry: Entry)] = [:]
    /// Credentials accepted by FTP servers.
    private var logins: [ProtectionSpace: LoadCredential] = [:]

    /// The user of a connection, in one protection space.
    private struct Identity: Hashable {
        let space: ProtectionSpace
        let user: String?
        let password: String?
    }

    /// A proxy, and the user that the settings specify for it.
    private struct Proxy: Hashable {
        let peer: AuthenticationPeer
        let user: String?
        let password: String?

        init(_ subject: AuthenticationSubject) {
            peer = subject.peer
            user = subject.userOfSettings?.user
            password = subject.userOfSettings?.password
        }
    }

    private var identities: [Identity: UInt64] = [:]
    private var lastIdentity: UInt64 = 0

    package init() {}

    /// The number that separates a user's connections from those of others. It is the same each time, except for a
    /// credential that is not kept: its number is new each time.
    func identity(of credential: LoadCredential?, in space: ProtectionSpace) -> UInt64 {
        let identity = Identity(space: space, user: credential?.user, password: credential?.password)
        if let known = identities[identity] { return known }
        lastIdentity &+= 1
        if credential?.isKept != false {
            if identities.count >= AuthenticationScopes.maximumCount { identities = [:] }
            identities[identity] = lastIdentity
        }
        return lastIdentity
    }

    /// Records a credential that a server or proxy has accepted.
    func remember(_ entry: consuming Entry, in space: ProtectionSpace, of subject: AuthenticationSubject) {
        entry.credential?.object = nil
        guard case .request(let request) = subject else {
            if proxies.count >= AuthenticationScopes.maximumCount { proxies = [:] }
            return proxies[Proxy(subject)] = (space, entry)
        }
        if entries[space] == nil, entries.count >= AuthenticationScopes.maximumCount, let other = entries.keys.first {
            // Any entry may be removed: its server will send another challenge.
            self[other, subject] = nil
        }
        entries[space] = entry
        scopes.add(entry.proof.scope(acceptedAt: request.url), of: space, at: request.url)
    }

    /// Whether there are credentials for servers.
    var knowsServers: Bool { !entries.isEmpty }

    /// The entry to send preemptively.
    func entry(for subject: AuthenticationSubject) -> (space: ProtectionSpace, entry: Entry)? {
        guard case .request(let request) = subject else { return proxies.isEmpty ? nil : proxies[Proxy(subject)] }
        if entries.isEmpty { return nil }
        guard let space = scopes.space(of: request.url), let entry = entries[space] else { return nil }
        return (space, entry)
    }

    /// Updates the entry of a space. An entry that was removed meanwhile stays removed.
    func update(_ space: ProtectionSpace, of subject: AuthenticationSubject, _ change: (inout Entry) -> Void) {
        guard var entry = self[space, subject] else { return }
        change(&entry)
        self[space, subject] = entry
    }

    /// Removes a refused credential, unless the entry has another one by now.
    func forget(_ credential: LoadCredential?, in space: ProtectionSpace, of subject: AuthenticationSubject) {
        if let entry = self[space, subject], entry.credential == credential { self[space, subject] = nil }
    }

    func forget(_ space: ProtectionSpace, of subject: AuthenticationSubject) {
        if self[space, subject] != nil { self[space, subject] = nil }
    }

    private subscript(space: ProtectionSpace, subject: AuthenticationSubject) -> Entry? {
        get {
            if case .request = subject { return entries[space] }
            return proxies[Proxy(subject)].flatMap { $0.space == space ? $0.entry : nil }
        }
        set {
            if case .request = subject {
                entries[space] = newValue
                if newValue == nil { scopes.remove(space) }
            } else {
                proxies[Proxy(subject)] = newValue.map { (space, $0) }
            }
        }
    }

    // MARK: FTP

    func login(in space: ProtectionSpace) -> LoadCredential? { logins[space] }

    func remember(login credential: LoadCredential, in space: ProtectionSpace) {
        if logins.count >= AuthenticationScopes.maximumCount { logins = [:] }
        logins[space] = credential
        logins[space]?.object = nil
    }

    /// Removes a refused credential, unless the entry has another one by now.
    func forgetLogin(_ credential: LoadCredential, in space: ProtectionSpace) {
        if logins[space] == credential { logins[space] = nil }
    }

    package func forgetAll() {
        entries = [:]
        proxies = [:]
        logins = [:]
        scopes = AuthenticationScopes()
        identities = [:]
    }
}
