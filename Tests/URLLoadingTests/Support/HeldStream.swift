import Foundation
import TestSupport

/// A stream that tells when it is read from, and then waits before it gives anything.
final class HeldStream: InputStream {
    private var bytes: [UInt8]
    private let onRead: Signal
    private let release: Signal
    private var status = Stream.Status.notOpen

    init(_ bytes: [UInt8], onRead: Signal, until release: Signal) {
        self.bytes = bytes
        self.onRead = onRead
        self.release = release
        super.init(data: Data())
    }

    override func open() { status = .open }
    override func close() { status = .closed }
    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? { nil }
    override var hasBytesAvailable: Bool { !bytes.isEmpty }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        onRead.fire()
        guard status == .open, (try? release.wait()) != nil else { return -1 }
        let count = min(length, bytes.count)
        for index in 0..<count { buffer[index] = bytes[index] }
        bytes.removeFirst(count)
        return count
    }
}
