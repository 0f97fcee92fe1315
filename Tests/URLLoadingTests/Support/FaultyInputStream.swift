import Foundation
import TestSupport

/// A faulty subclass of InputStream.
final class FaultyInputStream: InputStream {
    enum Fault: Sendable, CaseIterable {
        /// Fails at the first read.
        case failsAtOnce
        /// Fails after some bytes.
        case failsLater
        /// Is closed externally after some bytes.
        case isClosed
        /// Returns more than the buffer's length.
        case claimsTooMuch
        /// Cannot be opened.
        case doesNotOpen
    }

    private let fault: Fault
    private var left: Int
    private let errorDomain: String
    private var status = Stream.Status.notOpen
    let closed = Signal("the stream's end")

    init(_ fault: Fault, after count: Int = 100_000, errorDomain: String = NSPOSIXErrorDomain) {
        self.fault = fault
        self.errorDomain = errorDomain
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
        status == .error ? NSError(domain: errorDomain, code: Int(EIO)) : nil
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
