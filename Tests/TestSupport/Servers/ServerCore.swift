internal import CTestTLS
internal import Glibc

/// The state that the threads of a `ScriptedServer` share. They must not retain the server itself.
final class ServerCore: Sendable {
    struct Log: CustomStringConvertible {
        var connections: [ConnectionRecord] = []
        var failures: [any Error] = []
        var running = 0

        var description: String {
            "\(connections.count) connections, \(running) running" + failures.map { ", \($0)" }.joined()
        }
    }

    let tls: TLSServer?
    let stopSwitch: StopSwitch
    let log = Watched(Log())
    let port: Int
    let host: String
    private let script: ScriptedServer.Script
    private let deadline: Duration
    private let listeners: Watched<[BoundSocket]>
    /// Connections whose threads are about to end, by index.
    private let finished = Watched<[Int]>([])

    init(
        _ options: ScriptedServer.Options, tls: TLSServer?, script: @escaping ScriptedServer.Script
    ) throws {
        self.tls = tls
        self.script = script
        deadline = options.deadline
        stopSwitch = try StopSwitch()
        let sockets = try BoundSocket.onOnePort(
            options.addresses, isEverywhere: options.isEverywhere, isMultipath: options.isMultipath)
        for socket in sockets {
            if let size = options.sendBufferSize { socket.set(SO_SNDBUF, to: size) }
            if let size = options.receiveBufferSize { socket.set(SO_RCVBUF, to: size) }
            try socket.listen(backlog: options.backlog)
        }
        listeners = Watched(sockets)
        port = sockets.first?.port ?? 0
        host = sockets.first?.address.host ?? ""
    }

    /// The accepting thread: starts a thread for each connection, and joins them at the end.
    func acceptUntilStopped() {
        var threads: [Int: JoinableThread] = [:]
        while true {
            let ready = waitForConnections()
            if stopSwitch.signal.isFired { break }
            for listener in ready {
                let descriptor = ctt_accept(listener)
                guard descriptor >= 0 else { continue }
                let record = noteConnection(descriptor)
                threads[record.index] = try? JoinableThread(name: "test-server-\(record.index)") {
                    self.serve(descriptor, record)
                }
            }
            for index in finished.withValue({ $0.takeAll() }) {
                threads.removeValue(forKey: index)?.join()
            }
        }
        // A stopped server refuses connections.
        listeners.withValue { $0 = [] }
        for thread in threads.values { thread.join() }
    }

    private func waitForConnections() -> [Int32] {
        var polled = listeners.current.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        polled.append(pollfd(fd: stopSwitch.descriptor, events: Int16(POLLIN), revents: 0))
        _ = poll(&polled, nfds_t(polled.count), -1)
        return polled.dropLast().filter { $0.revents != 0 }.map(\.fd)
    }

    private func noteConnection(_ descriptor: Int32) -> ConnectionRecord {
        let peerPort = Loopback.port(of: descriptor) { getpeername($0, $1, $2) }
        return log.withValue { log in
            let record = ConnectionRecord(
                index: log.connections.count, peerPort: peerPort, family: Loopback.family(of: descriptor))
            log.connections.append(record)
            log.running += 1
            return record
        }
    }

    /// The thread of a connection.
    private func serve(_ descriptor: Int32, _ record: ConnectionRecord) {
        var failure: (any Error)?
        do {
            let connection = ServerConnection(
                socket: StreamSocket(adopting: descriptor, stop: stopSwitch), record: record, stop: stopSwitch,
                deadline: deadline)
            defer { connection.close() }
            // Failed handshakes are in the record, because many tests expect them.
            if tls.map({ (try? connection.startTLS($0)) != nil }) ?? true { try script(connection) }
        } catch is ServerStopped {
        } catch {
            failure = error
        }
        log.withValue { log in
            log.running -= 1
            if let failure { log.failures.append(failure) }
        }
        finished.withValue { $0.append(record.index) }
    }
}

extension Array {
    fileprivate mutating func takeAll() -> Self {
        defer { self = [] }
        return self
    }
}
