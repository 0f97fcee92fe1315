import Foundation

/// Reads another stream at a rate. Used by one thread at a time, as every stream.
final class LimitedStream: InputStream {
    private let source: InputStream
    private let limiter: RateLimiter

    init(_ source: InputStream, _ limiter: RateLimiter) {
        self.source = source
        self.limiter = limiter
        super.init(data: Data())
    }

    override func open() { source.open() }
    override func close() { source.close() }
    override var streamStatus: Stream.Status { source.streamStatus }
    override var streamError: (any Error)? { source.errorIfFailed }
    override var hasBytesAvailable: Bool { source.hasBytesAvailable }

    /// Waits after a piece and not before it, so that the first one is not late.
    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        let count = source.read(buffer, maxLength: min(length, limiter.pieceSize))
        if count > 0 { limiter.wait(for: count) }
        return count
    }
}

extension InputStream {
    /// `streamError`, which traps in streams of Foundation without an error.
    var errorIfFailed: (any Error)? { streamStatus == .error ? streamError : nil }
}
