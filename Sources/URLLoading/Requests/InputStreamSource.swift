internal import Foundation
internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// A request body that is read from an `InputStream`, a piece at a time and off the loop, since streams may block.
///
/// One queue per stream does everything that touches it, and a piece is read only when the one before is with the
/// kernel.
final class InputStreamSource: RequestBodySource, @unchecked Sendable {
    // Sendable because `stream` and `isOpen` are used on `queue` only, `isUntouched` on the loop.

    private let stream: InputStream
    private let loop: EventLoop
    private let queue = DispatchQueue(label: "URLSession body stream")
    private var isOpen = false
    private(set) var isUntouched = true

    private static let pieceSize = 64 * 1024

    init(_ stream: InputStream, on loop: EventLoop) {
        self.stream = stream
        self.loop = loop
    }

    func nextPiece(mayBePiped: Bool, _ deliver: @escaping (Result<BodyPiece, LoadError>) -> Void) {
        isUntouched = false
        let box = LoopBox(deliver)
        queue.async { [self] in
            let piece = read()
            loop.post { box.value(piece) }
        }
    }

    private func read() -> Result<BodyPiece, LoadError> {
        if !isOpen {
            isOpen = true
            switch stream.streamStatus {
            case .notOpen: stream.open()
            // What somebody else has read to its end is no body.
            case .atEnd, .closed: return .failure(.requestBodyStreamExhausted)
            default: break
            }
        }
        var buffer = [UInt8](repeating: 0, count: Self.pieceSize)
        let count = stream.read(&buffer, maxLength: buffer.count)
        // A subclass of the caller's may say that it has read more than there was room for.
        if count > buffer.count { return .failure(.requestBodyStreamExhausted) }
        if count > 0 { return .success(.bytes(Data(buffer[..<count]))) }
        // One that was closed meanwhile has not come to its end.
        if count == 0 {
            return stream.streamStatus == .closed ? .failure(.requestBodyStreamExhausted) : .success(.end)
        }
        let code = (stream.streamError as NSError?).map { Int32(truncatingIfNeeded: $0.code) }
        return .failure(LoadError(code: LoadError.requestBodyStreamExhausted.code, cause: code.map { .posix($0) }))
    }

    func cancel() {
        // A stream that was not opened may yet be sent over another connection.
        if !isUntouched { queue.async { [self] in stream.close() } }
    }
}
