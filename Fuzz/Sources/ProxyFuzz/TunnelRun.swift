import LoadingProtocols
import LoadingSemantics

/// What comes of CONNECT when a proxy says these bytes, in pieces of this length, and then ends the connection.
struct TunnelRun {
    private(set) var events: [ConnectTunnel.Event] = []

    init(_ bytes: [UInt8], limits: ConnectTunnelLimits, pieceLength: Int) {
        let destination = ProxyDestination(traffic: .https, host: "server.example", port: 443)
        var tunnel = ConnectTunnel(to: destination, limits: limits)
        guard (try? tunnel.request()) != nil else { preconditionFailure("a plain request is refused") }
        for start in stride(from: 0, to: bytes.count, by: pieceLength) {
            let piece = Array(bytes[start..<min(start + pieceLength, bytes.count)])
            piece.withUnsafeBytes { buffer in
                var input = buffer
                while let event = tunnel.next(&input) { events.append(event) }
            }
        }
        if let event = tunnel.connectionEnded() { events.append(event) }
    }
}
