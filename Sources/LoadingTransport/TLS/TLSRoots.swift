/// The certificates that a server's chain may end in.
package enum TLSRoots: Hashable, Sendable {
    case system
    case systemAnd([TrustAnchor])
    case only([TrustAnchor])
}
