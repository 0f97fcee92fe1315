internal import Foundation

/// A stream on its way from the delegate to the engine.
struct HandedStream: @unchecked Sendable {
    // Sendable because whoever opens the stream owns it, and nobody else touches it.
    var stream: InputStream?
}
