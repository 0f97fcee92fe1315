internal import LoadingTransport

/// One user's connections to a server (AUTH-19).
struct ConnectionProof {
    /// Tells the user's connections from those of others.
    let identity: UInt64
    /// What is being said on one of them; nil where all has been said.
    var conversation: GSSSecurityContext?
    /// What goes out with the next request.
    var token: [UInt8] = []
}
