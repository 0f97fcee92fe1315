import LoadingProtocols
import LoadingSemantics

/// What a handshake does when a proxy says these bytes, in pieces of this length, and then ends the connection.
struct HandshakeRun: Equatable {
    private(set) var actions: [SOCKSHandshake.Action] = []
    /// Bytes that were not taken.
    private(set) var rest = 0

    init(_ bytes: [UInt8], to destination: ProxyDestination, through server: ProxyServer, pieceLength: Int) {
        guard var handshake = SOCKSHandshake(to: destination, through: server) else {
            preconditionFailure("no handshake for a SOCKS proxy")
        }
        actions = [handshake.start()]
        for start in stride(from: 0, to: bytes.count, by: pieceLength) {
            // A copy of its own, so that the address sanitizer sees a read outside of it.
            let piece = Array(bytes[start..<min(start + pieceLength, bytes.count)])
            piece.withUnsafeBytes { buffer in
                var input = buffer
                while let action = handshake.next(&input) { actions.append(action) }
                rest += input.count
            }
        }
        if let action = handshake.connectionEnded() { actions.append(action) }
    }
}
