/// The certificates that a server's chain may end in.
package enum TLSRoots: Hashable, Sendable {
    case system
    case systemAnd([TLSAnchor])
    case only([TLSAnchor])
}

/// Where a root certificate comes from.
package enum TLSAnchor: Hashable, Sendable {
    /// A file of PEM certificates, or of one in DER.
    case file(String)
    case der([UInt8])
}
