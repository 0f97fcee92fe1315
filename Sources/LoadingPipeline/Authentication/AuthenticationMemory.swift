internal import LoadingSemantics

/// What a session has learned of where credentials are wanted, so that they are sent unasked (AUTH-26). Shared by the
/// loads of the session and confined to their loop.
package final class AuthenticationMemory {
    /// What was accepted in a space.
    struct Entry {
        /// Nil for the user whom the system knows.
        var credential: LoadCredential?
        var proof: AuthenticationProof
    }

    private var areas = ProtectedAreas()
    private var entries: [ProtectionSpace: Entry] = [:]
    /// What servers of FTP have accepted.
    private var logins: [ProtectionSpace: LoadCredential] = [:]

    /// By whom a connection is used: one user in one space.
    private struct Identity: Hashable {
        let space: ProtectionSpace
        let user: String?
        let password: String?
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
            if identities.count >= ProtectedAreas.maximumCount { identities = [:] }
            identities[identity] = lastIdentity
        }
        return lastIdentity
    }

    /// Notes what a server has accepted.
    func remember(_ entry: Entry, of space: ProtectionSpace, area: ProtectedArea, at url: HTTPURL) {
        if entries[space] == nil, entries.count >= ProtectedAreas.maximumCount, let other = entries.keys.first {
            // Which one matters little: its server will ask again.
            forget(other)
        }
        entries[space] = entry
        areas.add(area, of: space, at: url)
    }

    /// What to send to a URL unasked.
    func entry(for url: HTTPURL) -> (space: ProtectionSpace, entry: Entry)? {
        if entries.isEmpty { return nil }
        guard let space = areas.space(of: url), let entry = entries[space] else { return nil }
        return (space, entry)
    }

    /// Changes what is known of a space; what was forgotten meanwhile stays so.
    func update(_ space: ProtectionSpace, _ change: (inout Entry) -> Void) {
        guard var entry = entries[space] else { return }
        change(&entry)
        entries[space] = entry
    }

    /// The credential was refused, unless another is known by now.
    func forget(_ credential: LoadCredential?, of space: ProtectionSpace) {
        if let entry = entries[space], entry.credential == credential { forget(space) }
    }

    func forget(_ space: ProtectionSpace) {
        entries[space] = nil
        areas.remove(space)
    }

    // MARK: FTP

    func login(in space: ProtectionSpace) -> LoadCredential? { logins[space] }

    func remember(login credential: LoadCredential, in space: ProtectionSpace) {
        if logins.count >= ProtectedAreas.maximumCount { logins = [:] }
        logins[space] = credential
    }

    /// The credential was refused, unless another is known by now.
    func forgetLogin(_ credential: LoadCredential, in space: ProtectionSpace) {
        if logins[space] == credential { logins[space] = nil }
    }

    package func forgetAll() {
        entries = [:]
        logins = [:]
        areas = ProtectedAreas()
        identities = [:]
    }
}
