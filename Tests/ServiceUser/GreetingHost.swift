internal import BackgroundTransfers
internal import Glibc
internal import LoadingTransport

/// A service that replies to `hello`, and does nothing else.
final class GreetingHost: ServiceHost {
    private let loop: EventLoop
    private let becameIdle: () -> Void
    private var clients: [Int: MessageSocket<ServiceCommand, ServiceNotice>] = [:]
    private var lastClient = 0

    init(on loop: EventLoop, becameIdle: @escaping () -> Void) {
        self.loop = loop
        self.becameIdle = becameIdle
    }

    func start() {}

    func accept(_ descriptor: Int32) {
        lastClient += 1
        let client = lastClient
        clients[client] = MessageSocket(
            descriptor, on: loop, receive: { [weak self] _ in self?.greet(client) },
            ended: { [weak self] _ in self?.ended(client) })
    }

    private func greet(_ client: Int) {
        clients[client]?.send(
            .welcome(
                ServiceWelcome(
                    version: ServiceProtocol.version, program: ServiceProgram.executable ?? "", process: getpid())))
    }

    private func ended(_ client: Int) {
        clients[client] = nil
        if isIdle { becameIdle() }
    }

    var isIdle: Bool { clients.isEmpty }

    func stop(_ done: @escaping () -> Void) { done() }

    static func run(_ listener: ServiceListener?) -> Never {
        ServiceProcess.run(listener) { loop, _, becameIdle in GreetingHost(on: loop, becameIdle: becameIdle) }
    }
}

/// Called by `CLoadingDaemon` before `main`, as in programs of users.
@_cdecl("loading_run_background_service")
package func runService(_ listener: Int32) { GreetingHost.run(ServiceListener(inherited: listener)) }
