internal import Foundation

/// The stream to read from of a bound pair.
final class BoundInputStream: InputStream, InterruptibleStream {
    private let pipe: BoundPipe

    init(_ pipe: BoundPipe) {
        self.pipe = pipe
        super.init(data: Data())
        pipe.input.stream = self
    }

    deinit { close() }

    override func open() { pipe.open(pipe.input) }
    override func close() { pipe.close(pipe.input) }
    override var streamStatus: Stream.Status { pipe.status(of: pipe.input) }
    override var streamError: (any Error)? { nil }
    override var hasBytesAvailable: Bool { pipe.isUsable(pipe.input) }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        guard length > 0 else { return 0 }
        return pipe.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: length))
    }

    /// Not supported: the writer changes the buffer.
    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool { false }

    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }

    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        pipe.input.schedule.add(aRunLoop, mode)
    }

    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        pipe.input.schedule.remove(aRunLoop, mode)
    }
}
