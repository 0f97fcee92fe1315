internal import Foundation
internal import LoadingPipeline

/// The input stream of a connection that `captureStreams()` has handed to the delegate. `read` blocks.
final class CapturedInputStream: InputStream, InterruptibleStream {
    private let state: CapturedStreamState

    init(_ connection: CapturedConnection) {
        state = CapturedStreamState(connection)
        super.init(data: Data())
    }

    deinit { close() }

    override func open() { state.open() }
    override func close() { state.close()?.closeReading() }
    override var streamStatus: Stream.Status { state.status }
    override var streamError: (any Error)? { state.error }
    override var hasBytesAvailable: Bool { state.connection?.mayRead ?? false }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        guard let connection = state.connection else { return state.isAtEnd ? 0 : -1 }
        guard length > 0 else { return 0 }
        let count = connection.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: length))
        if count == 0 { state.end() }
        if count < 0 { state.fail(connection.failure) }
        return count
    }

    /// Not supported, because there is no internal buffer.
    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool { false }

    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }
    // Stream events through run loops are not supported.
    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {}
    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {}
}
