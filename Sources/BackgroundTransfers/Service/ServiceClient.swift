internal import Glibc
internal import LoadingTransport

/// A connection to the service: of a program that owns a session, or of an administrator. Confined to the loop.
final class ServiceClient {
    private let service: TransferService
    private var socket: MessageSocket<ServiceCommand, ServiceNotice>?
    private var hello: ServiceHello?
    private var session: ServiceSession?
    /// Whether it got the state of its session, and so gets the changes.
    var isListed = false
    private(set) var isWatching = false

    init(_ descriptor: Int32, of service: TransferService) {
        self.service = service
        socket = MessageSocket(
            descriptor, on: service.loop, watchesPeer: true, receive: { [weak self] in self?.receive($0) },
            ended: { [weak self] _ in self?.ended() })
    }

    func send(_ notice: ServiceNotice) { send([notice]) }

    func send(_ notices: [ServiceNotice]) { send(notices, isState: false) }

    /// Sends the present state, whatever its length.
    func sendAll(_ notices: [ServiceNotice]) { send(notices, isState: true) }

    private func send(_ notices: [ServiceNotice], isState: Bool) {
        guard let socket, !socket.send(notices, isState: isState) else { return }
        // One is too long for a message.
        socket.send(notices.map { socket.fits($0) ? $0 : $0.shortened }.filter(socket.fits), isState: isState)
    }

    /// Whether the peer has closed its end, even if what it has sent was not read yet.
    var hasHungUp: Bool { socket?.hasHungUp ?? true }

    func refuse(_ refusal: ServiceRefusal) {
        send(.refused(refusal))
        close()
    }

    /// The session has no owner any more.
    func detach() { close() }

    private func close() {
        socket?.closeWhenSent()
        ended()
    }

    private func ended() {
        socket = nil
        let old = session
        session = nil
        old?.detach(self)
        service.clientEnded(self)
    }

    private func receive(_ commands: [ServiceCommand]) {
        for command in commands {
            if socket == nil { return }
            receive(command)
        }
        // One reply for all commands of the turn.
        session?.confirmCommands()
    }

    private func receive(_ command: ServiceCommand) {
        guard let hello else {
            guard case .hello(let hello) = command else { return refuse(.invalidMessage) }
            return receive(hello)
        }
        switch command {
        case .hello: refuse(.invalidMessage)
        case .attach(let description, let attachment):
            guard session == nil, let application = hello.application, !description.identifier.isEmpty,
                max(application.utf8.count, description.identifier.utf8.count) <= ServiceProtocol.longestName
            else {
                return refuse(.invalidMessage)
            }
            let found = service.session(application, description)
            if found.isOwned || attachment.map({ found.hadOther(than: description.owner, since: $0) }) == true {
                return refuse(.sessionInUse)
            }
            session = found
            found.attach(self, description, again: attachment)
        case .list, .watch:
            isWatching = command == .watch
            service.sendList(to: self)
        case .describe(let reference):
            guard hello.application == nil else { return refuse(.invalidMessage) }
            send(.described(reference, service.described(reference)))
        case .control(let reference, let control):
            guard hello.application == nil else { return refuse(.invalidMessage) }
            send(.controlled(reference, service.control(reference, control)))
        default:
            // Numbered commands follow `attached`.
            guard let session, isListed else { return refuse(.invalidMessage) }
            session.perform(command)
        }
    }

    private func receive(_ hello: ServiceHello) {
        guard let version = ServiceProtocol.version(for: hello) else {
            return refuse(
                .version(
                    oldest: ServiceProtocol.oldestVersion, newest: ServiceProtocol.version, program: service.program))
        }
        self.hello = hello
        send(.welcome(ServiceWelcome(version: version, program: service.program, process: getpid())))
    }
}
