import Foundation
import Glibc
import LoadingPipeline
import LoadingStorage
import TestSupport
import Testing

@testable import BackgroundTransfers

/// A service without free file descriptors: its transfers wait for one. Each test lowers the limit in its own process.
@Suite struct BackgroundDescriptorTests {
    /// Lets the process open no further descriptor, or many again. Those that it has stay open.
    private static func allowNewDescriptors(_ isAllowed: Bool) {
        // As many as a poll needs, all of which are open.
        var limit = rlimit(rlim_cur: isAllowed ? 256 : 3, rlim_max: 256)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Blocks without a timer, for which Dispatch would need a descriptor.
    private static func wait(
        for service: BackgroundServiceInProcess, _ condition: @escaping @Sendable (TransferService) -> Bool
    ) {
        while service.onLoop(condition) != true {}
    }

    #if compiler(>=6.2)
        // ERR-5, BG-5
        @Test("a complete file is synchronized later", .timeLimit(.minutes(1))) func completeFile() async {
            await #expect(processExitsWith: .success) {
                let mayEnd = Signal("the rest")
                let server = try ScriptedServer { connection in
                    while try connection.nextRequest() != nil {
                        try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
                        try connection.wait(for: mayEnd)
                        try connection.send("rest")
                    }
                }
                let service = try BackgroundServiceInProcess()
                let peer = try service.attach(1)
                _ = try peer.attached()
                let request = TransferRequest(url: server.url().absoluteString, folder: "")
                try peer.send(
                    .create(TransferDescription(task: 1, kind: .download, request: request)), .resume(task: 1))
                _ = try peer.notices { if case .report(1, let report) = $0 { report.isProgress } else { false } }
                guard let keeper = service.onLoop({ $0.keeper }) else { exit(2) }
                Self.allowNewDescriptors(false)
                mayEnd.fire()
                Self.wait(for: service) { service in
                    let reference = TransferReference(application: "app", session: "test", task: 1)
                    return service.transfer(reference).map { !$0.hasLoad } ?? false
                }
                service.awaitFiles(keeper)
                Self.allowNewDescriptors(true)
                let notices = try peer.notices { if case .ended(1, _) = $0 { true } else { false } }
                guard case .ended(_, let end)? = notices.last, case .file = end.outcome else { exit(3) }
                guard service.files(in: "files").count == 1 else { exit(4) }
                exit(EXIT_SUCCESS)
            }
        }

        // ERR-5, BG-2
        @Test("the copy of an upload is synchronized later", .timeLimit(.minutes(1))) func body() async {
            await #expect(processExitsWith: .success) {
                let service = try BackgroundServiceInProcess()
                let peer = try service.attach(1)
                // A service that starts removes files of which it knows nothing.
                _ = try peer.attached()
                let body = service.path + "/uploads/upload"
                guard FileManager.default.createFile(atPath: body, contents: Data("body".utf8)) else { exit(2) }
                Self.allowNewDescriptors(false)
                try peer.send(.create(1, body: body))
                Self.wait(for: service) {
                    $0.session("app", SessionDescription(identifier: "test")).record.commands == 1
                }
                _ = service.onLoop { _ in }
                service.flushJournal()
                _ = service.onLoop { _ in }
                Self.allowNewDescriptors(true)
                guard try peer.next() == .committed(1) else { exit(3) }
                guard try service.journalContents().transfers.map(\.end) == [nil] else { exit(4) }
                exit(EXIT_SUCCESS)
            }
        }

        // ERR-5, BG-2: a task that was resumed at once, whose load would report a body that is gone
        @Test("no record precedes the copy of its upload", .timeLimit(.minutes(1))) func bodyOfAResumedTask() async {
            await #expect(processExitsWith: .success) {
                let folder = try TemporaryDirectory()
                let body = try folder.write("body", to: "upload").path
                let journal = TransferJournal(in: StorageDirectory(path: folder.path))
                var request = TransferRequest(url: "http://localhost/", folder: "")
                request.bodyFile = body
                var record = TransferRecord(
                    application: "app", session: "test",
                    description: TransferDescription(task: 1, kind: .upload, request: request))
                record.started = 1
                let session = SessionRecord(application: "app", description: SessionDescription(identifier: "test"))
                // Opens the file.
                guard Self.apply([.session(session)], to: journal) == nil else { exit(2) }
                Self.allowNewDescriptors(false)
                let failure = Self.apply([.transfer(record)], to: journal)
                Self.allowNewDescriptors(true)
                guard failure == StorageFailure(.open, body, .system(EMFILE)) else { exit(3) }
                guard Self.apply([.transfer(record)], to: journal) == nil else { exit(4) }
                try FileManager.default.removeItem(atPath: body)
                record.failures = 1
                guard Self.apply([.transfer(record)], to: journal) == nil else { exit(5) }
                exit(EXIT_SUCCESS)
            }
        }

        private static func apply(_ changes: [JournalChange], to journal: TransferJournal) -> StorageFailure? {
            let done = DispatchSemaphore(value: 0)
            let result = Watched<StorageFailure?>(nil)
            journal.apply(changes) { failure, _ in
                result.withValue { $0 = failure }
                done.signal()
            }
            done.wait()
            return result.current
        }
    #endif
}

extension TransferReport {
    fileprivate var isProgress: Bool { if case .progress = event { true } else { false } }
}
