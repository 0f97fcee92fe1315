package import Foundation

/// A stream that fires a signal and blocks when it is read, optionally after a number of initial bytes.
package final class BlockingInputStream: InputStream {
    private var bytes: ArraySlice<UInt8>
    /// The offset at which it blocks.
    private let hold: Int
    private let onRead: Signal
    private let release: Signal
    private var status = Stream.Status.notOpen

    /// - Parameter count: The number of bytes before it blocks.
    package init(_ bytes: [UInt8], givingFirst count: Int = 0, onRead: Signal, until release: Signal) {
        self.bytes = bytes[...]
        hold = min(count, bytes.count)
        self.onRead = onRead
        self.release = release
        super.init(data: Data())
    }

    package override func open() { status = .open }
    package override func close() { status = .closed }
    package override var streamStatus: Stream.Status { status }
    package override var streamError: (any Error)? { nil }
    package override var hasBytesAvailable: Bool { !bytes.isEmpty }

    package override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        guard status == .open else { return -1 }
        var room = length
        if bytes.startIndex < hold {
            room = min(room, hold - bytes.startIndex)
        } else {
            onRead.fire()
            guard (try? release.wait()) != nil else { return -1 }
        }
        let piece = bytes.prefix(room)
        piece.withUnsafeBufferPointer { if let start = $0.baseAddress { buffer.update(from: start, count: $0.count) } }
        bytes = bytes.dropFirst(piece.count)
        return piece.count
    }
}
