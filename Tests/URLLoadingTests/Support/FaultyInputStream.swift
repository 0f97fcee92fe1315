import Foundation
import TestSupport

/// A stream of a program's own that does what streams should not do.
final class FaultyInputStream: InputStream {
    enum Fault: Sendable, CaseIterable {
        /// Fails when it is first read from.
        case failsAtOnce
        /// Fails when it has given some.
        case failsLater
        /// Is closed by somebody else when it has given some.
        case isClosed
        /// Says that it has read more than there was room for.
        case claimsTooMuch
        /// Cannot be opened.
        case doesNotOpen
    }

    private let fault: Fault
    private var left: Int
    private var status = Stream.Status.notOpen
    let closed = Signal("the stream's end")

    init(_ fault: Fault, after count: Int = 100_000) {
        self.fault = fault
        left = fault == .failsAtOnce ? 0 : count
        super.init(data: Data())
    }

    override func open() { status = fault == .doesNotOpen ? .error : .open }

    override func close() {
        status = .closed
        closed.fire()
    }

    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? {
        status == .error ? NSError(domain: NSPOSIXErrorDomain, code: Int(EIO)) : nil
    }
    override var hasBytesAvailable: Bool { true }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        guard status == .open else { return -1 }
        if fault == .claimsTooMuch { return length + 1 }
        let count = min(left, length)
        left -= count
        if count > 0 {
            for index in 0..<count { buffer[index] = 7 }
            return count
        }
        status = fault == .isClosed ? .closed : .error
        return fault == .isClosed ? 0 : -1
    }
}
