/// The limits of decoding, which bound what a server costs with a small body that unfolds to a huge one.
///
/// The size of a decoded body has no limit: a decoder writes into the caller's buffer and holds nothing back, so memory
/// does not grow with it.
package enum ContentCodingLimits {
    /// Codings on top of each other. Each may multiply the size of a body by a thousand.
    static let codings = 5
    /// Bytes between one coding and the next.
    static let bytesBetweenCodings = 16 * 1024
    /// How often one call of `ContentDecoder.decode` feeds a coding from the one before it. A coding may take gigabytes
    /// and give nothing out: a few kilobytes of a coding in a coding would keep their thread for minutes.
    static let feedsPerCall = 64
    /// Decoded bytes in one turn of the loop. A collected body has no back-pressure, and other connections, timers and
    /// `cancel` must get their turn in between.
    package static let decodedBytesPerTurn = 1 << 20
    /// The binary logarithm of zstd's window: 8 MiB (RFC 9659). The windows of the other codings are bounded by their
    /// formats: 32 KiB for gzip and deflate, 16 MiB for Brotli.
    static let zstdWindowLog: Int32 = 23
}
