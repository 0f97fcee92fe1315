import BackgroundTransfers
import Foundation
import Glibc
import LoadingSemantics
import LoadingTransport
import TestSupport
import URLLoading

/// The service's end of the connection of a background session, with replies as the test specifies.
final class ScriptedBackgroundService: @unchecked Sendable {
    // Sendable: the sockets are confined to the loop, and the rest guards itself or never changes.
    typealias Send = (ServiceNotice) -> Void

    let commands = EventRecorder<ServiceCommand>()
    let folder: TemporaryDirectory
    private let loop = EventLoops.assign()
    private let peers: LoopBox<Peers>
    private let reply: @Sendable (ScriptedBackgroundService, ServiceCommand, Send) -> Bool

    /// Confined to the loop.
    private final class Peers {
        var all: [MessageSocket<ServiceCommand, ServiceNotice>] = []
    }

    /// - Parameter reply: Replies to a command on the loop. With false the replies are those of a service without
    ///   tasks, which carries out nothing.
    init(_ reply: @escaping @Sendable (ScriptedBackgroundService, ServiceCommand, Send) -> Bool = { _, _, _ in false })
        throws
    {
        folder = try TemporaryDirectory()
        peers = LoopBox(Peers(), on: loop)
        self.reply = reply
        _ = loop.serve()
    }

    func configuration(_ identifier: String = "test") -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        configuration.connectToBackgroundService = { [weak self] in
            self?.connect() ?? .failure(.backgroundServiceLost("the test has ended"))
        }
        return configuration
    }

    private func connect() -> Result<Int32, LoadError> {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return .failure(.backgroundServiceLost("socketpair")) }
        let descriptor = ends[1]
        loop.post { [self] in
            let peers = peers.value
            var socket: MessageSocket<ServiceCommand, ServiceNotice>?
            socket = MessageSocket(descriptor, on: loop) { [weak self] received in
                for command in received { self?.receive(command) { socket?.send($0) } }
            } ended: { _ in
                peers.all.removeAll { $0 === socket }
                socket = nil
            }
            if let socket { peers.all.append(socket) }
        }
        return .success(ends[0])
    }

    private func receive(_ command: ServiceCommand, _ send: Send) {
        commands.record(command)
        if reply(self, command, send) { return }
        switch command {
        case .hello:
            send(.welcome(ServiceWelcome(version: ServiceProtocol.version, program: "scripted", process: getpid())))
        case .attach: attach(send)
        case .invalidate: send(.invalidated)
        default: break
        }
    }

    /// The replies to `attach` of a session with these tasks.
    func attach(_ send: Send, next: Int = 1, commands: UInt64 = 0, _ tasks: [TransferState] = []) {
        send(
            .attached(
                SessionState(
                    attachment: 1, nextIdentifier: next, commands: commands, spool: folder.path + "/spool",
                    uploads: folder.path, isLaunched: false)))
        for task in tasks { send(.task(task)) }
        send(.listed)
        send(.replayed)
    }

    func send(_ notices: ServiceNotice...) {
        loop.post { [self] in for socket in peers.value.all { socket.send(notices) } }
    }

    /// Ends all connections.
    func close() {
        loop.post { [self] in
            for socket in peers.value.all { socket.close() }
            peers.value.all = []
        }
    }

    /// The commands that change tasks.
    var changes: [ServiceCommand] {
        commands.events.filter {
            switch $0 {
            case .hello, .attach: false
            default: true
            }
        }
    }
}
