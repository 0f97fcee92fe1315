internal import Foundation
internal import Glibc

/// The stream to write to of a bound pair.
final class BoundOutputStream: OutputStream {
    private let pipe: BoundPipe

    init(_ pipe: BoundPipe) {
        self.pipe = pipe
        super.init(toMemory: ())
        pipe.output.stream = self
    }

    /// Without a stream that reads.
    required init(toMemory: ()) {
        pipe = BoundPipe(capacity: 1)
        pipe.close(pipe.input)
        super.init(toMemory: ())
        pipe.output.stream = self
    }

    deinit { close() }

    override func open() { pipe.open(pipe.output) }
    override func close() { pipe.close(pipe.output) }
    override var streamStatus: Stream.Status { pipe.status(of: pipe.output) }
    override var streamError: (any Error)? {
        streamStatus == .error ? NSError(domain: NSPOSIXErrorDomain, code: Int(EPIPE)) : nil
    }
    override var hasSpaceAvailable: Bool { pipe.isUsable(pipe.output) }

    override func write(_ buffer: UnsafePointer<UInt8>, maxLength length: Int) -> Int {
        guard length > 0 else { return 0 }
        return pipe.write(UnsafeRawBufferPointer(start: buffer, count: length))
    }

    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }

    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        pipe.output.schedule.add(aRunLoop, mode)
    }

    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        pipe.output.schedule.remove(aRunLoop, mode)
    }
}
