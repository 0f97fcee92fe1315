internal import Foundation

/// A stream on its way from the delegate to the engine. Whoever opens it owns it; nobody else touches it.
struct HandedStream: @unchecked Sendable {
    var stream: InputStream?
}
