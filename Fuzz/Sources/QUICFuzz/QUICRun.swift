import LoadingProtocols
import LoadingSemantics

/// A connection without a server, and what comes instead of its server's answers.
final class QUICRun: HTTP3SessionObserver {
    private var input: UnsafeRawBufferPointer
    private var now: Int64 = 1_000_000_000
    /// The ids by which the client is known, and by which it knows the server; both are part of a datagram that is not
    /// thrown away at once.
    private var clientID: [UInt8] = []
    private var serverID: [UInt8] = []

    init(_ input: UnsafeRawBufferPointer) { self.input = input }

    func run() {
        // Both ends are 127.0.0.1, with ports.
        let address: [UInt8] = [2, 0, 0x20, 0xFB, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
        let session = HTTP3Session(
            serverName: "a.example", endpoints: HTTP3Endpoints(local: address, remote: address), at: now,
            observer: self)
        do throws(HTTP3Error) {
            try takeOutput(of: session)
            while input.count >= 2 {
                let kind = input[0]
                let count = min(Int(input[1]) * 8, input.count - 2)
                let bytes = UnsafeRawBufferPointer(rebasing: input[2..<(2 + count)])
                input = UnsafeRawBufferPointer(rebasing: input[(2 + count)...])
                let datagram = kind & 1 == 0 ? Array(bytes) : addressed(bytes)
                now += Int64(kind) << 18
                try datagram.withUnsafeBufferPointer { octets throws(HTTP3Error) in
                    try session.receive(UnsafeRawBufferPointer(octets), ecn: kind >> 1, at: now)
                }
                if kind & 2 != 0, let deadline = session.deadline {
                    now = max(now, deadline)
                    try session.handleDeadline(at: now)
                }
                try takeOutput(of: session)
            }
            precondition(!session.isHandshakeComplete, "a handshake without a server")
            _ = session.close(at: now)
        } catch {
            do throws(HTTP3Error) {
                try session.receive(UnsafeRawBufferPointer(start: nil, count: 0), ecn: 0, at: now)
                preconditionFailure("an error was forgotten")
            } catch {}
        }
        session.fail()
        precondition(session.deadline == nil && session.isFinished)
    }

    /// A long header with the ids in their places: the first octet and the version, then what comes behind them.
    private func addressed(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        Array(bytes.prefix(5)) + [UInt8(clientID.count)] + clientID + [UInt8(serverID.count)] + serverID
            + Array(bytes.dropFirst(5))
    }

    private func takeOutput(of session: HTTP3Session) throws(HTTP3Error) {
        var count = 0
        while let output = try session.nextOutput(at: now) {
            precondition(!output.bytes.isEmpty && output.segmentSize > 0, "an empty output")
            count += 1
            precondition(count < 1_000, "output without end")
            if clientID.isEmpty { noteIDs(in: output.bytes) }
        }
    }

    private func noteIDs(in datagram: UnsafeRawBufferPointer) {
        let serverEnd = 6 + Int(datagram[5])
        serverID = Array(datagram[6..<serverEnd])
        clientID = Array(datagram[(serverEnd + 1)..<(serverEnd + 1 + Int(datagram[serverEnd]))])
    }

    // MARK: HTTP3SessionObserver

    func received(informational head: HTTPStreamResponseHead, on stream: Int64) {
        preconditionFailure("a response without a server")
    }
    func received(_ head: HTTPStreamResponseHead, endsStream: Bool, on stream: Int64) {
        preconditionFailure("a response without a server")
    }
    func received(body bytes: UnsafeRawBufferPointer, on stream: Int64) {
        preconditionFailure("a response without a server")
    }
    func responseEnded(on stream: Int64) { preconditionFailure("a response without a server") }
    func closed(_ stream: Int64, with failure: HTTPStreamFailure?) {
        preconditionFailure("not requested")
    }
    func fill(_ buffer: UnsafeMutableRawBufferPointer, withBodyOf stream: Int64) -> HTTPStreamBodyRead {
        preconditionFailure("not requested")
    }
    func sentHead(on stream: Int64, byteCount: Int) {}
    func sentBody(on stream: Int64, byteCount: Int, frameByteCount: Int) {}
    func sentRequest(on stream: Int64) {}
    func peerSettingsChanged() {}
    func peerIsGoingAway(lastStream: Int64) {}
    func receivedPingAnswer() {}
    func received(certificates chain: [[UInt8]], cipherSuite: UInt16) {
        preconditionFailure("a handshake without a server")
    }
    func handshakeCompleted() { preconditionFailure("a handshake without a server") }
    func received(_ resumption: HTTP3Resumption) {}
}
