internal import Glibc

/// A connected stream socket with blocking calls that end at a deadline or when the server stops.
final class StreamSocket {
    enum Readiness {
        case ready
        case quiet
    }

    let descriptor: Int32
    private let stop: StopSwitch
    private(set) var isOpen = true

    /// Takes ownership of the descriptor.
    init(adopting descriptor: Int32, stop: StopSwitch) {
        self.descriptor = descriptor
        self.stop = stop
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        set(Int32(IPPROTO_TCP), TCP_NODELAY, to: 1)
    }

    deinit {
        close()
    }

    private func set(_ level: Int32, _ option: Int32, to value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Waits until the socket is ready for the events, or the time has passed.
    func wait(for events: Int32, within time: Duration) throws -> Readiness {
        let clock = ContinuousClock()
        let end = clock.now + time
        while true {
            var polled = [
                pollfd(fd: descriptor, events: Int16(events), revents: 0),
                pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            let left = max(.zero, end - clock.now)
            let count = poll(&polled, nfds_t(polled.count), Int32((left / .milliseconds(1)).rounded(.up)))
            if polled[1].revents != 0 { throw ServerStopped() }
            if polled[0].revents != 0 { return .ready }
            if count == 0 { return .quiet }
            guard errno == EINTR else { throw POSIXFailure("poll") }
        }
    }

    /// The available bytes: nil if there are none yet, empty at the end of the stream.
    func read() throws -> [UInt8]? {
        var failure: POSIXFailure?
        let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            let read = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            count = max(0, read)
            if read < 0 { failure = POSIXFailure("recv") }
        }
        if let failure {
            guard failure.code == EAGAIN || failure.code == EINTR else { throw failure }
            return nil
        }
        return bytes
    }

    /// The number of bytes that the kernel accepted; 0 if it would block.
    func write(_ bytes: ArraySlice<UInt8>) throws -> Int {
        let written = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if written >= 0 { return written }
        guard errno == EAGAIN || errno == EINTR else { throw POSIXFailure("send") }
        return 0
    }

    /// The bytes in the send buffer that are not acknowledged.
    var unsentCount: Int {
        var count: Int32 = 0
        return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
    }

    /// Closes the write side. The read side stays open.
    func finishWriting() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        Glibc.close(descriptor)
    }

    /// Makes the kernel drop all received segments, as if they were lost.
    func stopTaking() throws {
        // A socket filter of one instruction, which returns 0 (`struct sock_filter` and `sock_fprog` of
        // linux/filter.h).
        var instruction: UInt64 = 6
        let status = withUnsafeMutablePointer(to: &instruction) { instruction in
            var program = (length: UInt16(1), instructions: instruction)
            return setsockopt(
                descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, socklen_t(MemoryLayout.size(ofValue: program)))
        }
        guard status == 0 else { throw POSIXFailure("setsockopt") }
    }

    /// Closes with RST.
    func reset() {
        guard isOpen else { return }
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }
}
