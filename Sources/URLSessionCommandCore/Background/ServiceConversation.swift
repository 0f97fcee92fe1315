import BackgroundTransfers
import Foundation
import LoadingTransport

/// A blocking conversation of an administrator with the background service.
final class ServiceConversation: @unchecked Sendable {
    // Sendable: `condition` guards the events, and the socket is confined to the loop.

    enum Event: Equatable {
        case notice(ServiceNotice)
        case ended(MessageSocketEnd)
        case interrupted(ExitCode)
    }

    private let loop = EventLoops.assign()
    private var socket: MessageSocket<ServiceNotice, ServiceCommand>?
    private let condition = NSCondition()
    private var events: [Event] = []

    /// Takes a connected socket.
    init(_ descriptor: Int32) {
        loop.post { [self] in
            socket = MessageSocket(
                descriptor, on: loop, receive: { [self] in add($0.map(Event.notice)) },
                ended: { [self] in
                    socket = nil
                    add([.ended($0)])
                })
            socket?.send(.hello(ServiceHello(application: nil)))
        }
    }

    func send(_ commands: [ServiceCommand]) { loop.post { [self] in socket?.send(commands) } }

    /// Must be called at last.
    func close() {
        loop.post { [self] in
            socket?.close()
            socket = nil
        }
    }

    func interrupt(_ code: ExitCode) { add([.interrupted(code)]) }

    private func add(_ new: [Event]) {
        condition.lock()
        events += new
        condition.signal()
        condition.unlock()
    }

    /// What has happened. Empty if nothing does until then. The end is reported each time.
    func next(until end: Date) -> [Event] {
        condition.lock()
        defer { condition.unlock() }
        // Foundation traps for a date whose nanoseconds do not fit into an integer, such as the distant future.
        let end = min(end, Date(timeIntervalSinceNow: 86_400))
        while events.isEmpty, condition.wait(until: end) {}
        let found = events
        events = found.suffix(1).filter { if case .ended = $0 { true } else { false } }
        return found
    }
}
