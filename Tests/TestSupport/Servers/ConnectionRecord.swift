/// The observed state of one connection of a server. Thread-safe, during and after the script.
package final class ConnectionRecord: Sendable {
    /// How the client closed the connection.
    package enum End: Sendable, Equatable {
        /// FIN; over TLS without a close_notify before it.
        case finished
        /// FIN after close_notify, or close_notify alone.
        case closeNotify
        case reset
    }

    struct State: CustomStringConvertible {
        var bytesAccepted = 0
        var bytesReceived = 0
        var isBlocked = false
        var end: End?
        var isClosed = false
        var handshake: TLSHandshake?
        var handshakeFailure: String?
        /// The first bytes of the client, as on the wire.
        var handshakeBytes: [UInt8] = []
        var requests: [ReceivedRequest] = []

        var description: String {
            "\(requests), \(bytesReceived) bytes received, \(bytesAccepted) accepted"
                + (isBlocked ? ", blocked" : "") + (end.map { ", client's end: \($0)" } ?? "")
                + (isClosed ? ", closed" : "") + (handshakeFailure.map { ", \($0)" } ?? "")
        }
    }

    /// 0 for the first connection of its server.
    package let index: Int
    /// The client's port.
    package let peerPort: Int
    /// The address family of the client.
    package let family: Loopback
    let state = Watched(State())

    init(index: Int, peerPort: Int, family: Loopback = .ipv4) {
        self.index = index
        self.peerPort = peerPort
        self.family = family
    }

    /// The number of bytes that the kernel accepted from the server; with TLS including records.
    package var bytesAccepted: Int { state.current.bytesAccepted }
    package var bytesReceived: Int { state.current.bytesReceived }
    package var requests: [ReceivedRequest] { state.current.requests }
    package var handshake: TLSHandshake? { state.current.handshake }
    /// The client's ClientHello.
    package var clientHello: ClientHello? { ClientHello(state.current.handshakeBytes) }
    /// OpenSSL's message, such as `… tlsv1 alert unknown ca`.
    package var handshakeFailure: String? { state.current.handshakeFailure }
    /// Nil until the script has read that far.
    package var end: End? { state.current.end }
    /// Whether the server's side is closed.
    package var isClosed: Bool { state.current.isClosed }

    private var name: String { "connection \(index)" }

    /// Waits until the send buffer is full and the client reads nothing; returns the number of accepted bytes.
    @discardableResult
    package func waitUntilBlocked(within deadline: Duration = .testDeadline) throws -> Int {
        try state.wait(for: "\(name) to be blocked", within: deadline) { $0.isBlocked ? $0.bytesAccepted : nil }
    }

    @discardableResult
    package func waitUntilBlocked(within deadline: Duration = .testDeadline) async throws -> Int {
        try await state.wait(for: "\(name) to be blocked", within: deadline) { $0.isBlocked ? $0.bytesAccepted : nil }
    }

    /// Waits until the kernel has accepted a number of bytes.
    package func waitUntilAccepted(_ count: Int, within deadline: Duration = .testDeadline) throws {
        try state.wait(for: "\(count) bytes accepted on \(name)", within: deadline) {
            $0.bytesAccepted >= count ? () : nil
        }
    }

    package func waitUntilAccepted(_ count: Int, within deadline: Duration = .testDeadline) async throws {
        try await state.wait(for: "\(count) bytes accepted on \(name)", within: deadline) {
            $0.bytesAccepted >= count ? () : nil
        }
    }

    /// Waits until the server's side is closed.
    package func waitUntilClosed(within deadline: Duration = .testDeadline) async throws {
        try await state.wait(for: "\(name) to be closed", within: deadline) { $0.isClosed ? () : nil }
    }

    /// Waits until the script has read a number of request heads.
    package func waitForRequests(_ count: Int, within deadline: Duration = .testDeadline) async throws {
        try await state.wait(for: "\(count) requests on \(name)", within: deadline) {
            $0.requests.count >= count ? () : nil
        }
    }

    /// Waits until the client has closed its side; the script must be reading, as in `waitForClose`.
    @discardableResult
    package func waitForEnd(within deadline: Duration = .testDeadline) throws -> End {
        try state.wait(for: "the client's end of \(name)", within: deadline) { $0.end }
    }

    @discardableResult
    package func waitForEnd(within deadline: Duration = .testDeadline) async throws -> End {
        try await state.wait(for: "the client's end of \(name)", within: deadline) { $0.end }
    }

    /// Waits until the handshake has ended; returns nil if it failed.
    package func waitForHandshake(within deadline: Duration = .testDeadline) throws -> TLSHandshake? {
        try state.wait(for: "the handshake of \(name)", within: deadline) { state in
            state.handshake != nil || state.handshakeFailure != nil ? .some(state.handshake) : nil
        }
    }

    package func waitForHandshake(within deadline: Duration = .testDeadline) async throws -> TLSHandshake? {
        try await state.wait(for: "the handshake of \(name)", within: deadline) { state in
            state.handshake != nil || state.handshakeFailure != nil ? .some(state.handshake) : nil
        }
    }
}
