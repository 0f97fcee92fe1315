internal import Glibc

/// One accepted connection, used by its script's thread only. Other threads use `record`.
package final class ServerConnection {
    package let record: ConnectionRecord
    /// The timeout of each call. It restarts with every transferred byte.
    package var deadline: Duration
    /// How long a full send buffer must be unchanged to count as blocked. A reading client takes microseconds.
    package var quietTime = Duration.milliseconds(200)

    let socket: StreamSocket
    let stop: StopSwitch
    private(set) var tls: TLSSession?
    /// Decrypted bytes that the script has not read yet.
    private var unread: [UInt8] = []

    init(
        socket: StreamSocket, record: ConnectionRecord, stop: StopSwitch, deadline: Duration
    ) {
        self.socket = socket
        self.record = record
        self.stop = stop
        self.deadline = deadline
    }

    /// A connection without a `ScriptedServer`. Takes ownership of the descriptor.
    package convenience init(adopting descriptor: Int32, deadline: Duration = .testDeadline) throws {
        let stop = try StopSwitch()
        self.init(
            socket: StreamSocket(adopting: descriptor, stop: stop),
            record: ConnectionRecord(index: 0, peerPort: Loopback.port(of: descriptor) { getpeername($0, $1, $2) }),
            stop: stop, deadline: deadline)
    }

    deinit {
        close()
    }

    /// 0 for the first connection of its server.
    package var index: Int { record.index }

    // MARK: TLS

    /// Performs the server's handshake. All later bytes use TLS.
    @discardableResult
    package func startTLS(_ server: TLSServer) throws -> TLSHandshake {
        let session = try server.makeSession()
        do {
            while true {
                let progress = Result { try session.handshake() }
                try sendWire(session.takeOutput())
                if try progress.get() == .done { break }
                let bytes = try receiveWire("the client's part of the handshake")
                guard !bytes.isEmpty else { throw ConnectionEnded(awaited: "the client's part of the handshake") }
                record.state.withValue { if $0.handshakeBytes.count < 16_384 { $0.handshakeBytes += bytes } }
                try session.receive(bytes)
            }
        } catch {
            record.state.withValue { $0.handshakeFailure = "\(error)" }
            throw error
        }
        tls = session
        let outcome = session.outcome
        record.state.withValue { $0.handshake = outcome }
        return outcome
    }

    /// Requests a client certificate (TLS 1.3 post-handshake authentication). It arrives with the next read; see
    /// `tlsOutcome`.
    package func requestClientCertificate() throws {
        try tls?.requestCertificate()
        try flushTLS()
    }

    /// Sends this many key updates of TLS 1.3 at once.
    package func updateKey(times: Int) throws {
        for _ in 0..<times { try tls?.updateKey() }
        try flushTLS()
    }

    /// Asks for another handshake (TLS 1.2).
    package func renegotiate() throws {
        try tls?.renegotiate()
        try flushTLS()
    }

    /// The current TLS state, which post-handshake authentication changes.
    package var tlsOutcome: TLSHandshake? { tls?.outcome }

    func flushTLS() throws {
        guard let output = tls?.takeOutput(), !output.isEmpty else { return }
        try sendWire(output)
    }

    // MARK: Receiving

    /// Waits for bytes; empty if the client has closed its side. A reset throws.
    package func receive() throws -> [UInt8] {
        if !unread.isEmpty {
            defer { unread = [] }
            return unread
        }
        guard let tls else { return try receiveWire("bytes") }
        while record.state.current.end == nil {
            let (progress, bytes) = try tls.read()
            try flushTLS()
            switch progress {
            case .done where bytes.isEmpty: continue
            case .done: return bytes
            case .closedByClient: noteEnd(.closeNotify)
            case .wantsInput:
                let wire = try receiveWire("bytes")
                if !wire.isEmpty { try tls.receive(wire) }
            }
        }
        return []
    }

    /// Waits until the client has sent something, and leaves it unread.
    package func waitForBytes() throws {
        guard unread.isEmpty, try socket.wait(for: POLLIN, within: deadline) == .quiet else { return }
        throw DeadlineExceeded(awaited: "bytes on connection \(index)", deadline: deadline)
    }

    /// Waits for a number of bytes.
    package func receive(exactly count: Int) throws -> [UInt8] {
        while unread.count < count { try receiveMore("\(count) bytes") }
        defer { unread.removeFirst(count) }
        return Array(unread.prefix(count))
    }

    /// Waits for a pattern, and returns everything up to its end.
    package func receive(through pattern: String) throws -> [UInt8] {
        try receive(through: Array(pattern.utf8))
    }

    func receive(through pattern: [UInt8]) throws -> [UInt8] {
        var start = 0
        while true {
            if let end = Self.end(of: pattern, in: unread, from: start) {
                defer { unread.removeFirst(end) }
                return Array(unread.prefix(end))
            }
            start = max(0, unread.count - pattern.count + 1)
            try receiveMore("\(String(reflecting: String(decoding: pattern, as: UTF8.self)))")
        }
    }

    private static func end(of pattern: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count >= start + pattern.count else { return nil }
        for position in start...(bytes.count - pattern.count)
        where bytes[position..<(position + pattern.count)].elementsEqual(pattern) {
            return position + pattern.count
        }
        return nil
    }

    /// Whether bytes or the end are available, without reading them.
    func hasMore() throws -> Bool {
        if unread.isEmpty { unread = try receive() }
        return !unread.isEmpty
    }

    private func receiveMore(_ awaited: String) throws {
        let before = unread
        unread = []
        let more = try receive()
        unread = before + more
        if more.isEmpty { throw ConnectionEnded(awaited: awaited) }
    }

    private func receiveWire(_ awaited: String) throws -> [UInt8] {
        while true {
            do {
                if let bytes = try socket.read() {
                    if bytes.isEmpty {
                        noteEnd(.finished)
                    } else {
                        record.state.withValue { $0.bytesReceived += bytes.count }
                    }
                    return bytes
                }
            } catch let failure as POSIXFailure where failure.code == ECONNRESET {
                noteEnd(.reset)
                throw failure
            }
            if try socket.wait(for: POLLIN, within: deadline) == .quiet {
                throw DeadlineExceeded(awaited: "\(awaited) on connection \(index)", deadline: deadline)
            }
        }
    }

    private func noteEnd(_ end: ConnectionRecord.End) {
        record.state.withValue { $0.end = $0.end ?? end }
    }

    /// Waits for bytes as they are on the wire, to see what is no TLS; empty if the client has closed its side.
    package func receiveBelowTLS() throws -> [UInt8] { try receiveWire("bytes below TLS") }

    // MARK: Sending

    package func send(_ text: String) throws {
        try send(Array(text.utf8))
    }

    package func send(_ bytes: [UInt8]) throws {
        try send(bytes[...])
    }

    /// Sends in pieces of a number of bytes, each with its own system call and TLS record.
    package func send(_ bytes: [UInt8], inPiecesOf size: Int) throws {
        for start in stride(from: 0, to: bytes.count, by: size) {
            try send(bytes[start..<min(start + size, bytes.count)])
        }
    }

    package func sendByteByByte(_ text: String) throws {
        try send(Array(text.utf8), inPiecesOf: 1)
    }

    private func send(_ bytes: ArraySlice<UInt8>) throws {
        guard let tls else { return try sendWire(bytes) }
        guard !bytes.isEmpty else { return }
        try tls.write(bytes)
        try flushTLS()
    }

    /// Sends bytes outside TLS, to break it.
    package func sendBelowTLS(_ bytes: [UInt8]) throws {
        try sendWire(bytes)
    }

    private func sendWire(_ bytes: [UInt8]) throws {
        try sendWire(bytes[...])
    }

    private func sendWire(_ bytes: ArraySlice<UInt8>) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count: Int
            do {
                count = try socket.write(rest.prefix(65_536))
            } catch let failure as POSIXFailure where failure.code == ECONNRESET || failure.code == EPIPE {
                noteEnd(.reset)
                throw failure
            }
            if count == 0 {
                try waitUntilWritable()
            } else {
                rest = rest.dropFirst(count)
                record.state.withValue {
                    $0.bytesAccepted += count
                    $0.isBlocked = false
                }
            }
        }
    }

    /// Records a full send buffer that is unchanged for the quiet time as blocked.
    private func waitUntilWritable() throws {
        let clock = ContinuousClock()
        var moved = clock.now
        var unsent = socket.unsentCount
        while try socket.wait(for: POLLOUT, within: quietTime) == .quiet {
            let left = socket.unsentCount
            if left != unsent {
                unsent = left
                moved = clock.now
            } else {
                record.state.withValue { $0.isBlocked = true }
            }
            if clock.now - moved > deadline {
                throw DeadlineExceeded(awaited: "the client to read on connection \(index)", deadline: deadline)
            }
        }
    }

    // MARK: Waiting and ending

    /// Waits for a signal. Nothing is read meanwhile, so this also simulates a server that stops reading.
    package func wait(for signal: Signal) throws {
        let changes = Watched(0)
        signal.observe { changes.withValue { $0 += 1 } }
        try wait(on: changes, for: signal.name) { signal.isFired }
    }

    /// Waits for a permit, and takes it.
    package func wait(for permits: Permits) throws {
        let changes = Watched(0)
        permits.observe { changes.withValue { $0 += 1 } }
        try wait(on: changes, for: "a tick") { permits.take() }
    }

    private func wait(on changes: Watched<Int>, for awaited: String, until isOver: () -> Bool) throws {
        stop.signal.observe { changes.withValue { $0 += 1 } }
        try changes.wait(for: "\(awaited) on connection \(index)", within: deadline) { _ in
            if isOver() { return true }
            if stop.signal.isFired { throw ServerStopped() }
            return nil
        }
    }

    /// Reads and sends nothing until the server stops.
    package func stopReading() throws -> Never {
        try stop.signal.wait(within: .seconds(3_600))
        throw ServerStopped()
    }

    /// Discards bytes until the client closes its side, and returns how it did.
    @discardableResult
    package func waitForClose() throws -> ConnectionRecord.End {
        do {
            repeat { unread = [] } while try !receive().isEmpty
        } catch let failure as POSIXFailure where failure.code == ECONNRESET {
            noteEnd(.reset)
        }
        return record.state.current.end ?? .finished
    }

    /// Closes the write side, with TLS after close_notify. The read side stays open.
    package func finishSending() throws {
        tls?.closeNotify()
        try flushTLS()
        socket.finishWriting()
    }

    /// Sends close_notify and leaves the socket open; without TLS this does nothing.
    package func sendCloseNotify() throws {
        tls?.closeNotify()
        try flushTLS()
    }

    /// A graceful close, with TLS after close_notify.
    package func close() {
        guard socket.isOpen else { return }
        try? sendCloseNotify()
        closeAbruptly()
    }

    /// A close without close_notify, which looks like a truncation with TLS. Unread bytes would make the kernel send a
    /// reset, so they are read first; if the client is still sending, call `finishSending()` and `waitForClose()`
    /// before.
    package func closeAbruptly() {
        guard socket.isOpen else { return }
        for _ in 0..<64 {
            guard let bytes = try? socket.read(), !bytes.isEmpty else { break }
        }
        socket.close()
        record.state.withValue { $0.isClosed = true }
    }

    /// Makes the kernel silently drop all further packets of the client.
    package func stopTaking() throws { try socket.stopTaking() }

    /// Closes with RST.
    package func reset() {
        socket.reset()
        record.state.withValue { $0.isClosed = true }
    }
}

/// The client has closed its side while a script was waiting.
package struct ConnectionEnded: Error, CustomStringConvertible {
    package let awaited: String

    package var description: String { "the client closed before \(awaited) came" }
}
