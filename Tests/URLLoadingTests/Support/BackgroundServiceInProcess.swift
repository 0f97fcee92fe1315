import BackgroundTransfers
import Foundation
import Glibc
import LoadingPipeline
import LoadingSemantics
import LoadingStorage
import LoadingTransport
import TestSupport
import URLLoading

/// The service of background transfers in this process, with its files in a folder of the test.
final class BackgroundServiceInProcess: @unchecked Sendable {
    // Sendable: the service is confined to its loop, and the lock guards the rest.
    let folder: TemporaryDirectory
    let loop = EventLoops.assign()
    private let lock = NSLock()
    private var service: LoopBox<TransferService>?
    private var journal: TransferJournal
    /// Duplicates of the service's ends of the connections.
    private var connections: [Int32] = []
    private var failure: LoadError?

    init() throws {
        folder = try TemporaryDirectory()
        for name in ["files", "uploads", "spool"] {
            try FileManager.default.createDirectory(at: folder.file(name), withIntermediateDirectories: true)
        }
        journal = TransferJournal(in: StorageDirectory(path: folder.path))
        start()
    }

    private func start() {
        _ = loop.serve()
        let ready = DispatchSemaphore(value: 0)
        loop.post { [self] in
            let service = TransferService(
                on: loop,
                folders: ServiceFolders(
                    files: folder.path + "/files", uploads: folder.path + "/uploads", spool: folder.path + "/spool"),
                journal: journal, program: "test", makeEnvironment: makeBackgroundEnvironment)
            service.start()
            lock.withLock { self.service = LoopBox(service) }
            ready.signal()
        }
        ready.wait()
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
        let (service, descriptor) = (service, ends[1])
        loop.post { service?.value.accept(descriptor) }
        return .success(ends[0])
    }

    /// From now on sessions cannot connect.
    func refuseConnections(_ error: LoadError) { lock.withLock { failure = error } }

    /// Ends all connections, as the end of the service's process does.
    func breakConnections() {
        for descriptor in lock.withLock({ () -> [Int32] in defer { connections = [] }; return connections }) {
            shutdown(descriptor, Int32(SHUT_RDWR))
            close(descriptor)
        }
    }

    /// Ends the service, and starts another one that reads the journal.
    func restart() {
        breakConnections()
        stop()
        journal = TransferJournal(in: StorageDirectory(path: folder.path))
        start()
    }

    func stop() {
        breakConnections()
        guard let old = lock.withLock({ () -> LoopBox<TransferService>? in defer { service = nil }; return service }) else {
            return
        }
        let ended = DispatchSemaphore(value: 0)
        loop.post { old.value.stop { ended.signal() } }
        ended.wait()
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

    /// The files in a folder of the service.
    func files(in name: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.file(name).path))?.sorted() ?? []
    }
}
