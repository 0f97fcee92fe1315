internal import Foundation
internal import LoadingPipeline

/// The output stream of a connection that `captureStreams()` has handed to the delegate. `write` blocks.
final class CapturedOutputStream: OutputStream {
    private let state: CapturedStreamState

    init(_ connection: CapturedConnection) {
        state = CapturedStreamState(connection)
        super.init(toMemory: ())
    }

    required init(toMemory: ()) {
        state = CapturedStreamState(nil)
        super.init(toMemory: ())
    }

    deinit { close() }

    override func open() { state.open() }
    override func close() { state.close()?.closeWriting() }
    override var streamStatus: Stream.Status { state.status }
    override var streamError: (any Error)? { state.error }
    override var hasSpaceAvailable: Bool { state.connection?.mayWrite ?? false }

    override func write(_ buffer: UnsafePointer<UInt8>, maxLength length: Int) -> Int {
        guard let connection = state.connection else { return -1 }
        guard length > 0 else { return 0 }
        let count = connection.write(UnsafeRawBufferPointer(start: buffer, count: length))
        if count < 0 { state.fail(connection.failure) }
        return count
    }

    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }
    // Stream events through run loops are not supported.
    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {}
    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {}
}
