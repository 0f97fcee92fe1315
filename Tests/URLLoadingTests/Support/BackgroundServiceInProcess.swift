import Foundation
import Glibc
import LoadingPipeline
import LoadingSemantics
import LoadingStorage
import LoadingTransport
import TestSupport
import URLLoading

@testable import BackgroundTransfers

/// The service of background transfers in this process, with its files in a folder of the test.
final class BackgroundServiceInProcess: @unchecked Sendable {
    // Sendable: the service is confined to its loop, and the lock guards the rest.
    let folder: TemporaryDirectory
    /// With the files of the service.
    let path: String
    let loop = EventLoops.assign()
    private let lock = NSLock()
    private let host: LoopBox<Host>
    private var journal: TransferJournal
    /// Duplicates of the service's ends of the connections.
    private var connections: [Int32] = []
    private var failure: LoadError?
    /// How often the service has found that it has nothing to do.
    let timesIdle = Watched(0)

    /// Confined to the loop.
    private final class Host {
        var service: TransferService?
    }

    /// - Parameters:
    ///   - path: The folder of the service; nil for that of the test.
    ///   - prepare: Called with that path before the service is started.
    init(in path: String? = nil, prepare: (String) throws -> Void = { _ in }) throws {
        host = LoopBox(Host(), on: loop)
        folder = try TemporaryDirectory()
        self.path = path ?? folder.path
        for name in ["files", "uploads", "spool"] {
            try FileManager.default.createDirectory(
                atPath: self.path + "/" + name, withIntermediateDirectories: true)
        }
        try prepare(self.path)
        journal = TransferJournal(in: StorageDirectory(path: self.path))
        start()
    }

    private func start() {
        _ = loop.serve()
        let ready = DispatchSemaphore(value: 0)
        loop.post { [self] in
            let service = TransferService(
                on: loop,
                folders: ServiceFolders(
                    files: path + "/files", uploads: path + "/uploads", spool: path + "/spool"),
                journal: journal, program: "test", makeEnvironment: makeBackgroundEnvironment,
                becameIdle: { [timesIdle] in timesIdle.withValue { $0 += 1 } })
            service.start()
            host.value.service = service
            ready.signal()
        }
        ready.wait()
    }

    /// Calls the body on the service's loop. Nil after `stop`.
    func onLoop<Value: Sendable>(_ body: @escaping @Sendable (TransferService) -> Value) -> Value? {
        let result = Watched<Value?>(nil)
        let done = DispatchSemaphore(value: 0)
        loop.post { [host] in
            if let service = host.value.service { result.withValue { $0 = body(service) } }
            done.signal()
        }
        done.wait()
        return result.current
    }

    /// Waits until the loop has handled the results of what the thread for files was given before, and that thread what
    /// followed.
    func awaitFiles(_ keeper: FileKeeper) {
        let done = DispatchSemaphore(value: 0)
        keeper.run { [loop] in loop.post { keeper.run { done.signal() } } }
        done.wait()
    }

    /// For sessions.
    func connect() -> Result<Int32, LoadError> {
        lock.lock()
        defer { lock.unlock() }
        if let failure { return .failure(failure) }
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return .failure(.backgroundServiceLost("socketpair")) }
        connections.append(fcntl(ends[1], F_DUPFD_CLOEXEC, 0))
        let (host, descriptor) = (host, ends[1])
        loop.post {
            if let service = host.value.service { return service.accept(descriptor) }
            // Between two services. The duplicate would keep the connection open.
            shutdown(descriptor, Int32(SHUT_RDWR))
            close(descriptor)
        }
        return .success(ends[0])
    }

    /// From now on sessions cannot connect.
    func refuseConnections(_ error: LoadError) { lock.withLock { failure = error } }

    /// Ends all connections, as the end of the service's process does.
    func breakConnections() {
        for descriptor in lock.withLock({ () -> [Int32] in
            defer { connections = [] }; return connections
        }) {
            shutdown(descriptor, Int32(SHUT_RDWR))
            close(descriptor)
        }
    }

    /// Ends the service, and starts another one that reads the journal.
    func restart() {
        breakConnections()
        stop()
        awaitClosedFiles()
        journal = TransferJournal(in: StorageDirectory(path: path))
        start()
    }

    /// The loads of a service that has stopped close their files a little later. Those of a process that has ended are
    /// closed.
    private func awaitClosedFiles() {
        for folder in ["files", "uploads"] {
            for name in files(in: folder) {
                let descriptor = open("\(path)/\(folder)/\(name)", O_RDONLY | O_CLOEXEC)
                guard descriptor >= 0 else { continue }
                flock(descriptor, LOCK_EX)
                close(descriptor)
            }
        }
    }

    func stop() {
        breakConnections()
        let ended = DispatchSemaphore(value: 0)
        loop.post { [host] in
            guard let service = host.value.service else {
                ended.signal()
                return
            }
            service.stop {
                host.value.service = nil
                ended.signal()
            }
        }
        ended.wait()
        // One that a session has made meanwhile would stay open without a service.
        breakConnections()
        flushJournal()
    }

    /// Waits until the journal has tried to write what it was given.
    func flushJournal() {
        let flushed = DispatchSemaphore(value: 0)
        journal.flush { flushed.signal() }
        flushed.wait()
    }

    /// A configuration for sessions with that identifier.
    func configuration(_ identifier: String = "test") -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        configuration.connectToBackgroundService = { [weak self] in
            self?.connect() ?? .failure(.backgroundServiceLost("the test has ended"))
        }
        return configuration
    }

    /// All transfers, as an administrator sees them.
    var transfers: [ListedTransfer] {
        get throws {
            let peer = BackgroundPeer(try connect().get())
            defer { peer.close() }
            try peer.send(.hello(ServiceHello(application: nil)), .list)
            var all: [ListedTransfer] = []
            while let notice = try peer.next() {
                switch notice {
                case .transfers(let listed): all += listed
                case .listed: return all
                default: break
                }
            }
            throw BackgroundPeer.Unexpected()
        }
    }

    /// Waits until all transfers have ended.
    func waitForEnds() async throws {
        try await eventually { [self] in (try? transfers.allSatisfy { $0.status == .finished }) == true }
    }

    /// What the journal has, as a new process reads it.
    func journalContents() throws -> JournalContents { try Self.journalContents(in: path) }

    static func journalContents(in path: String) throws -> JournalContents {
        let done = DispatchSemaphore(value: 0)
        let result = Watched<Result<JournalContents, StorageFailure>?>(nil)
        TransferJournal(in: StorageDirectory(path: path), notify: { _ in }).load { loaded in
            result.withValue { $0 = loaded }
            done.signal()
        }
        done.wait()
        return try result.current?.get() ?? JournalContents()
    }

    /// Makes a journal with those records.
    static func writeJournal(_ changes: [JournalChange], in path: String) throws {
        let done = DispatchSemaphore(value: 0)
        let result = Watched<StorageFailure?>(nil)
        TransferJournal(in: StorageDirectory(path: path)).apply(changes) { failure, _ in
            result.withValue { $0 = failure }
            done.signal()
        }
        done.wait()
        if let failure = result.current { throw failure }
    }

    /// The files in a folder of the service.
    func files(in name: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path + "/" + name))?.sorted() ?? []
    }
}
