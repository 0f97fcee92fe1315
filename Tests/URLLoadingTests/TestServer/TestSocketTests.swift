import Foundation
import TestSupport
import Testing

@testable import URLLoadingTesting

/// The use of a socket that another thread closes.
@Suite(.leavesNothing) struct TestSocketTests {
    /// Both ends of a connection, one with a byte to read.
    private func pair() throws -> (unread: Int32, other: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        try #require(write(ends[1], "x", 1) == 1)
        return (ends[0], ends[1])
    }

    @Test("a closed socket does not read from another one with its number") func otherDescriptor() throws {
        let (number, other) = try pair()
        let (another, peer) = try pair()
        let socket = TestSocket(number)
        socket.close()
        try #require(dup2(another, number) == number)
        #expect(socket.read() == nil)
        #expect(socket.hasClientGone)
        var byte: UInt8 = 0
        #expect(recv(number, &byte, 1, Int32(MSG_DONTWAIT)) == 1)
        for descriptor in [number, other, another, peer] { close(descriptor) }
    }

    @Test("the descriptor is closed when no thread waits for it") func waitingReader() throws {
        let (number, other) = try pair()
        _ = fcntl(number, F_SETFL, O_NONBLOCK)
        let socket = TestSocket(number)
        #expect(socket.read()?.count == 1)
        let begins = Signal("the reader")
        let ended = Signal("the end of the reader")
        Thread {
            begins.fire()
            if socket.read() == nil { ended.fire() }
        }.start()
        try begins.wait()
        socket.close()
        try ended.wait()
        #expect(fcntl(number, F_GETFD) == -1)
        close(other)
    }
}
