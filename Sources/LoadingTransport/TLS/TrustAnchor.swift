/// Where a root certificate comes from.
package enum TrustAnchor: Hashable, Sendable {
    /// A file of PEM certificates, or of one in DER.
    case file(String)
    case der([UInt8])
}
