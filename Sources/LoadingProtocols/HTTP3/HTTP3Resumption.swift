/// What one connection leaves for the next to the same server, so that its handshake is shorter.
///
/// It stands for the trust in the certificate that was presented then: whoever keeps it keeps that with it.
package struct HTTP3Resumption: Sendable, Equatable {
    /// GnuTLS's own form.
    let ticket: [UInt8]
    /// What the server allowed, which holds for early data.
    let transportParameters: [UInt8]
    /// Whether requests may go out before the server has answered.
    package let hasEarlyData: Bool
    /// Seconds from when it was told.
    package let lifetime: Int64
}
