import LoadingProtocols
import LoadingSemantics
import Testing

/// Reads and writes in their order, as a machine without a socket sees them.
@Suite struct StreamMachineTests {
    private typealias Action = StreamMachine.Action
    private let lost = LoadError.networkConnectionLost

    private func open(buffered: Int = 0) -> StreamMachine { StreamMachine(buffered: buffered) }

    // STREAM-2, STREAM-4
    @Test("reads are carried out one after the other") func readsInOrder() {
        var machine = open()
        #expect(machine.read(1, least: 2, most: 4, timeout: nil, at: 0) == [])
        #expect(machine.read(2, least: 1, most: 1, timeout: nil, at: 0) == [])
        #expect(machine.received(1, at: 1) == [])
        #expect(
            machine.received(4, at: 2) == [
                .completeRead(1, count: 4, isAtEnd: false), .completeRead(2, count: 1, isAtEnd: false),
            ])
        #expect(machine.received(3, at: 3) == [])
        #expect(machine.read(3, least: 1, most: 9, timeout: nil, at: 4) == [.completeRead(3, count: 3, isAtEnd: false)])
    }

    // STREAM-2
    @Test("bounds that make no sense are made some of") func bounds() {
        var machine = open()
        #expect(machine.read(1, least: 5, most: 0, timeout: nil, at: 0) == [.completeRead(1, count: 0, isAtEnd: false)])
        #expect(
            machine.read(2, least: 5, most: -1, timeout: nil, at: 0) == [.completeRead(2, count: 0, isAtEnd: false)])
        #expect(machine.read(3, least: -4, most: 9, timeout: nil, at: 0) == [])
        #expect(machine.read(4, least: 9, most: 2, timeout: nil, at: 0) == [])
        #expect(
            machine.received(3, at: 0) == [
                .completeRead(3, count: 3, isAtEnd: false)
            ])
        #expect(machine.received(2, at: 0) == [.completeRead(4, count: 2, isAtEnd: false)])
        #expect(machine.write(5, count: 0, timeout: nil, at: 0) == [.completeWrite(5)])
    }

    // STREAM-3, STREAM-4
    @Test("writes are carried out one after the other") func writesInOrder() {
        var machine = StreamMachine()
        #expect(machine.write(1, count: 3, timeout: nil, at: 0) == [])
        #expect(machine.write(2, count: 2, timeout: nil, at: 0) == [])
        #expect(machine.nextWrite == nil)
        #expect(machine.connected(at: 1) == [])
        #expect(machine.nextWrite.map { [$0.id, $0.rest] } == [1, 3])
        #expect(machine.wrote(2, at: 1) == [])
        #expect(machine.nextWrite.map { [$0.id, $0.rest] } == [1, 1])
        #expect(machine.wrote(1, at: 1) == [.completeWrite(1)])
        #expect(machine.wrote(2, at: 1) == [.completeWrite(2)])
        #expect(machine.nextWrite == nil)
    }

    // STREAM-2, STREAM-8
    @Test("the end of the stream") func theEndOfTheStream() {
        var machine = open()
        #expect(machine.received(3, at: 0) == [])
        #expect(machine.receivedEnd(at: 0) == [.reportReadClosed])
        #expect(machine.read(1, least: 1, most: 2, timeout: nil, at: 0) == [.completeRead(1, count: 2, isAtEnd: false)])
        #expect(machine.read(2, least: 9, most: 9, timeout: nil, at: 0) == [.completeRead(2, count: 1, isAtEnd: true)])
        #expect(machine.read(3, least: 1, most: 1, timeout: nil, at: 0) == [.completeRead(3, count: 0, isAtEnd: true)])
        #expect(machine.closeWriting(at: 0) == [.closeWriting, .reportWriteClosed, .end(nil)])
        #expect(machine.read(4, least: 1, most: 1, timeout: nil, at: 0) == [.completeRead(4, count: 0, isAtEnd: true)])
        #expect(machine.write(5, count: 1, timeout: nil, at: 0) == [.failWrite(5, .streamIsClosed)])
    }

    // STREAM-5
    @Test("closing waits for what was asked for before, in its own direction") func closing() {
        var machine = open()
        #expect(machine.read(1, least: 1, most: 1, timeout: nil, at: 0) == [])
        #expect(machine.write(2, count: 1, timeout: nil, at: 0) == [])
        #expect(machine.closeWriting(at: 0) == [])
        #expect(machine.write(3, count: 1, timeout: nil, at: 0) == [])
        #expect(
            machine.wrote(1, at: 0) == [
                .completeWrite(2), .closeWriting, .reportWriteClosed, .failWrite(3, .streamIsClosed),
            ])
        #expect(machine.closeReading(at: 0) == [])
        #expect(machine.read(4, least: 1, most: 1, timeout: nil, at: 0) == [])
        #expect(
            machine.received(2, at: 0) == [
                .completeRead(1, count: 1, isAtEnd: false), .closeReading, .reportReadClosed,
                .failRead(4, .streamIsClosed), .end(nil),
            ])
    }

    // STREAM-5: the other direction goes on
    @Test("what comes after reading was closed is dropped") func closedReading() {
        var machine = open()
        #expect(machine.closeReading(at: 0) == [.closeReading, .reportReadClosed])
        #expect(machine.dropsBytes)
        #expect(machine.received(100, at: 0) == [])
        #expect(machine.closeReading(at: 0) == [])
        #expect(machine.write(1, count: 1, timeout: nil, at: 0) == [])
        #expect(machine.wrote(1, at: 0) == [.completeWrite(1)])
        #expect(machine.receivedEnd(at: 0) == [])
        #expect(!machine.dropsBytes)
    }

    // STREAM-2, STREAM-3: the clock starts when it is their turn
    @Test("a read and a write that time out") func timeouts() {
        var machine = StreamMachine()
        #expect(machine.read(1, least: 1, most: 1, timeout: 10, at: 0) == [])
        #expect(machine.read(2, least: 1, most: 1, timeout: 1, at: 0) == [])
        #expect(machine.write(3, count: 5, timeout: 20, at: 0) == [])
        #expect(machine.deadline == nil)
        #expect(machine.connected(at: 100) == [])
        #expect(machine.deadline == 110)
        #expect(machine.timePassed(at: 109) == [])
        #expect(machine.timePassed(at: 110) == [.failRead(1, .timedOut), .failRead(2, .timedOut)])
        #expect(machine.read(4, least: 1, most: 1, timeout: nil, at: 111) == [.failRead(4, .timedOut)])
        #expect(machine.bytesWanted == 0)
        #expect(machine.wrote(5, at: 112) == [.completeWrite(3)])
        #expect(machine.write(5, count: 1, timeout: 5, at: 113) == [])
        #expect(machine.write(6, count: 1, timeout: 5, at: 113) == [])
        #expect(
            machine.timePassed(at: 118) == [.failWrite(5, .timedOut), .failWrite(6, .timedOut), .end(.timedOut)])
    }

    // T-2
    @Test("no time passes while it is suspended") func suspended() {
        var machine = open()
        #expect(machine.read(1, least: 1, most: 1, timeout: 10, at: 0) == [])
        machine.suspend(at: 4)
        machine.suspend(at: 5)
        #expect(machine.deadline == nil)
        #expect(machine.bytesWanted == 0)
        #expect(machine.timePassed(at: 50) == [])
        #expect(machine.write(2, count: 1, timeout: nil, at: 50) == [])
        #expect(machine.nextWrite == nil)
        #expect(machine.resume(at: 100) == [])
        #expect(machine.nextWrite?.id == 2)
        #expect(machine.deadline == 106)
        #expect(machine.timePassed(at: 106) == [.failRead(1, .timedOut)])
    }

    // T-2
    @Test("a deadline that is far away stays so") func suspendedFarAway() {
        var machine = open()
        _ = machine.read(1, least: 1, most: 1, timeout: .max, at: 1)
        machine.suspend(at: 2)
        #expect(machine.resume(at: 100) == [])
        #expect(machine.deadline == .max)
    }

    // STREAM-6
    @Test("a handshake waits for what was asked for before, and holds up what comes after") func securing() {
        var machine = open()
        #expect(machine.read(1, least: 1, most: 9, timeout: nil, at: 0) == [])
        #expect(machine.write(2, count: 1, timeout: nil, at: 0) == [])
        #expect(machine.secure(at: 0) == [])
        #expect(machine.read(3, least: 1, most: 1, timeout: 7, at: 0) == [])
        #expect(machine.write(4, count: 1, timeout: nil, at: 0) == [])
        #expect(machine.wrote(1, at: 0) == [.completeWrite(2)])
        #expect(machine.nextWrite == nil)
        #expect(machine.received(2, at: 0) == [.completeRead(1, count: 2, isAtEnd: false), .secure])
        #expect(machine.isConnecting)
        #expect(machine.bytesWanted == 0)
        #expect(machine.deadline == nil)
        #expect(machine.secured(at: 9) == [])
        #expect(machine.nextWrite?.id == 4)
        #expect(machine.deadline == 16)
    }

    // STREAM-6: an attacker may have injected them
    @Test("unread bytes before the handshake") func injectedBytes() {
        var machine = open()
        #expect(machine.read(1, least: 1, most: 1, timeout: nil, at: 0) == [])
        #expect(machine.secure(at: 0) == [])
        #expect(machine.read(2, least: 1, most: 1, timeout: nil, at: 0) == [])
        let error = LoadError.secureConnectionFailed(0, "bytes before the handshake")
        #expect(
            machine.received(2, at: 0) == [
                .completeRead(1, count: 1, isAtEnd: false), .failRead(2, error), .end(error),
            ])
    }

    // STREAM-6
    @Test("a handshake on half a connection") func securingHalf() {
        var machine = open()
        #expect(machine.closeWriting(at: 0) == [.closeWriting, .reportWriteClosed])
        #expect(machine.secure(at: 0) == [.end(.streamIsClosed)])
    }

    // STREAM-6: neither bytes that TLS has authenticated nor an end are in its way
    @Test("a handshake over TLS has no effect", arguments: [false, true]) func securingTwice(isHandedOver: Bool) {
        var machine = isHandedOver ? StreamMachine(buffered: 3, isSecure: true) : open()
        if !isHandedOver {
            #expect(machine.secure(at: 0) == [.secure])
            #expect(machine.secured(at: 0) == [])
            #expect(machine.received(3, at: 0) == [])
        }
        #expect(machine.write(1, count: 1, timeout: nil, at: 0) == [])
        #expect(machine.secure(at: 0) == [])
        // What comes while it waits for its turn is read as ever.
        #expect(machine.bytesWanted == StreamMachine.readAhead - 3)
        #expect(machine.wrote(1, at: 0) == [.completeWrite(1)])
        #expect(!machine.isConnecting)
        #expect(machine.receivedEnd(at: 0) == [.reportReadClosed])
        #expect(machine.secure(at: 0) == [])
        #expect(machine.read(2, least: 3, most: 9, timeout: nil, at: 0) == [.completeRead(2, count: 3, isAtEnd: true)])
        #expect(machine.closeWriting(at: 0) == [.closeWriting, .reportWriteClosed, .end(nil)])
    }

    // STREAM-7
    @Test("capturing waits for what was asked for before") func capturing() {
        var machine = open()
        #expect(machine.read(1, least: 1, most: 1, timeout: nil, at: 0) == [])
        #expect(machine.write(2, count: 1, timeout: nil, at: 0) == [])
        #expect(machine.capture(at: 0) == [])
        #expect(machine.write(3, count: 1, timeout: nil, at: 0) == [])
        #expect(machine.received(5, at: 0) == [.completeRead(1, count: 1, isAtEnd: false)])
        #expect(machine.bytesWanted == 0)
        #expect(machine.wrote(1, at: 0) == [.completeWrite(2), .failWrite(3, .streamIsClosed), .handOver])
        #expect(machine.read(4, least: 1, most: 1, timeout: nil, at: 0) == [.failRead(4, .streamIsClosed)])
        #expect(machine.closeReading(at: 0) == [])
        #expect(machine.fail(.cancelled) == [])
    }

    // STREAM-4
    @Test("cancelling completes everything with the error", arguments: [true, false]) func cancelling(isOpen: Bool) {
        var machine = isOpen ? open() : StreamMachine()
        #expect(machine.read(1, least: 1, most: 1, timeout: nil, at: 0) == [])
        #expect(machine.write(2, count: 1, timeout: nil, at: 0) == [])
        #expect(machine.secure(at: 0) == [])
        #expect(machine.read(3, least: 1, most: 1, timeout: nil, at: 0) == [])
        #expect(
            machine.fail(.cancelled) == [
                .failRead(1, .cancelled), .failRead(3, .cancelled), .failWrite(2, .cancelled), .end(.cancelled),
            ])
        #expect(machine.fail(lost) == [])
        #expect(machine.read(4, least: 1, most: 1, timeout: nil, at: 0) == [.failRead(4, .cancelled)])
        #expect(machine.write(5, count: 1, timeout: nil, at: 0) == [.failWrite(5, .cancelled)])
    }

    // STREAM-2: bytes first
    @Test("a connection that is lost with unread bytes") func breakage() {
        var machine = open()
        #expect(machine.received(3, at: 0) == [])
        #expect(machine.write(1, count: 1, timeout: nil, at: 0) == [])
        #expect(machine.broke(lost, at: 0) == [.failWrite(1, lost)])
        #expect(machine.read(2, least: 1, most: 2, timeout: nil, at: 0) == [.completeRead(2, count: 2, isAtEnd: false)])
        #expect(machine.read(3, least: 2, most: 2, timeout: nil, at: 0) == [.failRead(3, lost), .end(lost)])
    }

    // STREAM-2
    @Test("a connection that breaks while a read waits") func breakageWhileReading() {
        var machine = open()
        #expect(machine.read(1, least: 5, most: 5, timeout: nil, at: 0) == [])
        #expect(machine.received(3, at: 0) == [])
        #expect(machine.broke(lost, at: 0) == [.failRead(1, lost), .end(lost)])
    }

    // STREAM-3, STREAM-8
    @Test("a peer that reads no more may have sent data") func writingBroke() {
        var machine = open()
        #expect(machine.write(1, count: 1, timeout: nil, at: 0) == [])
        #expect(machine.writingBroke(lost, at: 0) == [.reportWriteClosed, .failWrite(1, lost)])
        #expect(machine.received(1, at: 0) == [])
        #expect(machine.receivedEnd(at: 0) == [.reportReadClosed])
        #expect(
            machine.read(2, least: 1, most: 1, timeout: nil, at: 0) == [
                .completeRead(2, count: 1, isAtEnd: true), .end(lost),
            ])
    }

    // STREAM-8, T-65
    @Test("what may be read ahead is bounded") func readAhead() {
        var machine = open(buffered: 10)
        #expect(machine.bytesWanted == StreamMachine.readAhead - 10)
        #expect(machine.received(StreamMachine.readAhead - 10, at: 0) == [])
        #expect(machine.bytesWanted == 0)
        #expect(machine.read(1, least: 1_000_000, most: 2_000_000, timeout: nil, at: 0) == [])
        #expect(machine.bytesWanted == 1_000_000 - StreamMachine.readAhead)
    }
}
