internal import LoadingSemantics

/// What a session has learned of where credentials are wanted, so that they are sent unasked (AUTH-26). Shared by the
/// loads of the session and confined to their loop.
package final class AuthenticationMemory {
    /// What was accepted in a space.
    struct Entry {
        /// Nil for the user that the system knows.
        var credential: LoadCredential?
        var proof: AuthenticationProof
    }

    private var scopes = AuthenticationScopes()
    private var entries: [ProtectionSpace: Entry] = [:]
    /// What proxies have accepted; it is good for all that goes through them.
    private var proxies: [Proxy: (space: ProtectionSpace, entry: Entry)] = [:]
    /// What servers of FTP have accepted.
    private var logins: [ProtectionSpace: LoadCredential] = [:]

    /// The user of a connection, in one protection space.
    private struct Identity: Hashable {
        let space: ProtectionSpace
        let user: String?
        let password: String?
    }

    /// A proxy, and the user that the settings name for it.
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

    /// The number that tells a user's connections from those of others, the same one each time; another one each time
    /// if the credential is not to be kept.
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

    /// Notes what a server or proxy has accepted.
    func remember(_ entry: consuming Entry, in space: ProtectionSpace, of subject: AuthenticationSubject) {
        entry.credential?.object = nil
        guard case .request(let request) = subject else {
            if proxies.count >= AuthenticationScopes.maximumCount { proxies = [:] }
            return proxies[Proxy(subject)] = (space, entry)
        }
        if entries[space] == nil, entries.count >= AuthenticationScopes.maximumCount, let other = entries.keys.first {
            // Which one matters little: its server will ask again.
            forget(other)
        }
        entries[space] = entry
        scopes.add(entry.proof.scope(acceptedAt: request.url), of: space, at: request.url)
    }

    /// Whether there is anything to say to servers unasked.
    var knowsServers: Bool { !entries.isEmpty }

    /// What to say unasked.
    func entry(for subject: AuthenticationSubject) -> (space: ProtectionSpace, entry: Entry)? {
        guard case .request(let request) = subject else { return proxies.isEmpty ? nil : proxies[Proxy(subject)] }
        if entries.isEmpty { return nil }
        guard let space = scopes.space(of: request.url), let entry = entries[space] else { return nil }
        return (space, entry)
    }

    /// Changes what is known of a space; what was forgotten meanwhile stays so.
    func update(_ space: ProtectionSpace, of subject: AuthenticationSubject, _ change: (inout Entry) -> Void) {
        guard case .request = subject else {
            if var known = proxies[Proxy(subject)], known.space == space {
                change(&known.entry)
                proxies[Proxy(subject)] = known
            }
            return
        }
        guard var entry = entries[space] else { return }
        change(&entry)
        entries[space] = entry
    }

    /// The credential was refused, unless another is known by now.
    func forget(_ credential: LoadCredential?, in space: ProtectionSpace, of subject: AuthenticationSubject) {
        guard case .request = subject else {
            if let known = proxies[Proxy(subject)], known.entry.credential == credential { forget(space, of: subject) }
            return
        }
        if let entry = entries[space], entry.credential == credential { forget(space) }
    }

    func forget(_ space: ProtectionSpace, of subject: AuthenticationSubject) {
        guard case .request = subject else {
            if proxies[Proxy(subject)]?.space == space { proxies[Proxy(subject)] = nil }
            return
        }
        forget(space)
    }

    private func forget(_ space: ProtectionSpace) {
        entries[space] = nil
        scopes.remove(space)
    }

    // MARK: FTP

    func login(in space: ProtectionSpace) -> LoadCredential? { logins[space] }

    func remember(login credential: LoadCredential, in space: ProtectionSpace) {
        if logins.count >= AuthenticationScopes.maximumCount { logins = [:] }
        logins[space] = credential
        logins[space]?.object = nil
    }

    /// The credential was refused, unless another is known by now.
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
