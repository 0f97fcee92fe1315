import Foundation
import LoadingTransport
import TestSupport

/// A client that drives a `TLSStream` over a socket of its own, waiting with `poll` where an event loop would.
final class TLSClient {
    let descriptor: Int32
    let stream: TLSStream
    private(set) var resumptions: [TLSResumption] = []
    /// The handshake's requests other than readiness, in order.
    private(set) var questions: [String] = []
    private(set) var peer: TLSPeer?
    private(set) var identityRequests: [TLSIdentityRequest] = []

    init(
        to server: ScriptedServer, context: TLSContext, serverName: String = "localhost",
        resuming resumption: TLSResumption? = nil, sendBufferSize: Int32? = nil
    ) throws {
        descriptor = try Self.connect(to: server, sendBufferSize: sendBufferSize)
        do {
            stream = try TLSStream(
                context: context, descriptor: descriptor, serverName: serverName, resuming: resumption)
        } catch {
            close(descriptor)
            throw error
        }
        stream.onResumption = { [unowned self] resumption, _ in resumptions.append(resumption) }
    }

    deinit { close(descriptor) }

    private static func connect(to server: ScriptedServer, sendBufferSize: Int32?) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXFailure("socket") }
        if var sendBufferSize { setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &sendBufferSize, 4) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(server.port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let code = withUnsafeBytes(of: &address) {
            Glibc.connect(descriptor, $0.bindMemory(to: sockaddr.self).baseAddress, socklen_t($0.count))
        }
        guard code == 0, fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else {
            let failure = POSIXFailure("connect")
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    func waitUntil(_ events: Int32) throws {
        var entry = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0)
        guard poll(&entry, 1, 10_000) == 1 else {
            throw DeadlineExceeded(awaited: "readiness", deadline: .testDeadline)
        }
    }

    /// Performs the handshake; nil if it succeeds.
    func handshake(
        identity: TLSIdentity? = nil, trust: (TLSPeer) -> TLSTrustVerdict = { _ in .accept }
    ) throws -> TLSError? {
        while true {
            switch stream.handshake() {
            case .complete: return nil
            case .failed(let error): return error
            case .wantsRead: try waitUntil(POLLIN)
            case .wantsWrite: try waitUntil(POLLOUT)
            case .wantsTrust(let peer):
                questions.append("trust")
                self.peer = peer
                stream.decideTrust(trust(peer))
            case .wantsIdentity(let request):
                questions.append("identity")
                identityRequests.append(request)
                stream.provideIdentity(identity)
            }
        }
    }

    /// Performs the handshake up to the first request or its end.
    func handshakeToQuestion() throws -> String {
        while true {
            switch stream.handshake() {
            case .complete: return "complete"
            case .failed(let error): return "failed \(error.code)"
            case .wantsRead: try waitUntil(POLLIN)
            case .wantsWrite: try waitUntil(POLLOUT)
            case .wantsTrust: return "trust"
            case .wantsIdentity: return "identity"
            }
        }
    }

    /// Reads until the result is not `wouldBlock`.
    func read(capacity: Int, identity: TLSIdentity? = nil) throws -> (TLSReadResult, [UInt8]) {
        var bytes = [UInt8](repeating: 0, count: capacity)
        while true {
            let result = bytes.withUnsafeMutableBytes { stream.read(into: $0) }
            switch result {
            case .wouldBlock: try waitUntil(POLLIN)
            case .wantsWrite: try waitUntil(POLLOUT)
            case .wantsIdentity(let request):
                identityRequests.append(request)
                stream.provideIdentity(identity)
            case .bytes(let count): return (result, Array(bytes.prefix(count)))
            case .end, .truncated, .failed: return (result, [])
            }
        }
    }

    /// The data up to the end, and the kind of end.
    func readToEnd(capacity: Int = 65_536, identity: TLSIdentity? = nil) throws -> (TLSReadResult, [UInt8]) {
        var all: [UInt8] = []
        while true {
            let (result, bytes) = try read(capacity: capacity, identity: identity)
            all += bytes
            guard case .bytes = result else { return (result, all) }
        }
    }

    /// Writes all bytes; nil if that succeeds.
    @discardableResult
    func write(_ bytes: [UInt8], inPiecesOf size: Int = .max) throws -> TLSError? {
        var rest = bytes[...]
        while !rest.isEmpty {
            // A copy: the buffer of a repeated write may have another address.
            let piece = Array(rest.prefix(size))
            switch piece.withUnsafeBytes({ stream.write($0) }) {
            case .bytes(let count): rest = rest.dropFirst(count)
            case .wouldBlock: try waitUntil(POLLOUT)
            case .wantsRead: _ = try read(capacity: 1)
            case .failed(let error): return error
            }
        }
        return nil
    }
}

extension TLSContext {
    /// Trusts certificates of this authority only.
    convenience init(
        trusting authority: TestCertificateAuthority, _ change: (inout TLSConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = TLSConfiguration()
        configuration.roots = .only([.der(authority.root.der)])
        change(&configuration)
        try self.init(configuration)
    }
}

extension TLSIdentity {
    convenience init(_ identity: TestIdentity) throws {
        try self.init(pem: Array((identity.chainPEM + identity.privateKey.pem).utf8))
    }
}

extension TLSServerOptions {
    func only(_ version: Version) -> Self {
        with {
            $0.minimumVersion = version
            $0.maximumVersion = version
        }
    }
}

/// Seconds since 1970.
var now: Int64 { Int64(Date().timeIntervalSince1970) }
