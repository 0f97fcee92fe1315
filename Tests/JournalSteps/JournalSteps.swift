package import BackgroundTransfers
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import LoadingPipeline
package import LoadingStorage

/// Things that are done to a journal, one after the other, each of them confirmed before the next.
package struct JournalSteps {
    private let journal: TransferJournal
    private let folder: String

    package static let count = 9

    /// - Parameter folder: With the journal and the files.
    package init(in folder: String) {
        self.folder = folder
        journal = TransferJournal(in: StorageDirectory(path: folder), notify: { _ in })
    }

    /// Returns whether the step was done.
    package func perform(_ step: Int) -> Bool {
        if step == 1 { makeFile("upload") }
        if step == 4 { makeFile("download") }
        let done = DispatchSemaphore(value: 0)
        let failure = Box()
        journal.apply(Self.changes(step, in: folder)) { result, _ in
            failure.value = result
            done.signal()
        }
        done.wait()
        return failure.value == nil
    }

    /// The contents of the journal, as a new process reads them.
    package func contents() -> Result<JournalContents, StorageFailure> {
        let done = DispatchSemaphore(value: 0)
        let result = Loaded()
        journal.load {
            result.value = $0
            done.signal()
        }
        done.wait()
        // Set before the signal.
        return result.value!
    }

    // Sendable because each is written before a signal and read after it.
    private final class Box: @unchecked Sendable { var value: StorageFailure? }
    private final class Loaded: @unchecked Sendable { var value: Result<JournalContents, StorageFailure>? }

    // MARK: Files

    package static let fileContent = [UInt8](repeating: 0x4E, count: 20_000)

    private func makeFile(_ name: String) {
        let descriptor = open(folder + "/" + name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        write(descriptor, Self.fileContent, Self.fileContent.count)
        close(descriptor)
    }

    /// The files that must be complete for a transfer.
    package static func committedFiles(of contents: JournalContents) -> [String] {
        contents.transfers.compactMap { transfer in
            if case .file(let path) = transfer.end?.outcome, transfer.end?.delivered == .nothing { return path }
            return transfer.started == nil ? transfer.description.request.bodyFile : nil
        }
    }

    // MARK: Contents

    package static func contents(after steps: Int, in folder: String) -> JournalContents {
        var contents = JournalContents()
        for change in (0..<steps).flatMap({ changes($0, in: folder) }) { contents.apply(change) }
        return contents
    }

    static func changes(_ step: Int, in folder: String) -> [JournalChange] {
        switch step {
        case 0: return [.session(session(1))]
        case 1: return [.transfer(upload(in: folder)), .transfer(transfer(2, in: folder)), .session(session(3))]
        case 2:
            var started = upload(in: folder)
            started.started = 1000
            return [.transfer(started)]
        case 3: return (3..<40).map { .transfer(transfer($0, in: folder)) }
        case 4:
            var ended = transfer(2, in: folder)
            ended.end = TransferEnd(
                order: 1, head: nil, progress: TransferProgress(), outcome: .file(folder + "/download"), metrics: nil)
            return [.transfer(ended), .session(session(41))]
        case 5: return [.transferRemoved(transfer(3, in: folder).reference)]
        case 6:
            return [.session(SessionRecord(application: "other", description: SessionDescription(identifier: "s")))]
        case 7: return [.sessionRemoved(SessionReference(application: "app", session: "s"))]
        default: return [.transfer(other(in: folder))]
        }
    }

    private static func session(_ next: Int) -> SessionRecord {
        var record = SessionRecord(application: "app", description: SessionDescription(identifier: "s"))
        record.nextIdentifier = next
        return record
    }

    private static func transfer(_ task: Int, in folder: String) -> TransferRecord {
        TransferRecord(
            application: "app", session: "s",
            description: TransferDescription(
                task: task, kind: .download,
                request: TransferRequest(url: "http://localhost/\(task)", folder: folder),
                original: Data(repeating: UInt8(task), count: 300)))
    }

    private static func upload(in folder: String) -> TransferRecord {
        var record = transfer(1, in: folder)
        record.description.kind = .upload
        record.description.request.bodyFile = folder + "/upload"
        return record
    }

    private static func other(in folder: String) -> TransferRecord {
        var record = transfer(1, in: folder)
        record.application = "other"
        return record
    }
}

extension JournalContents {
    /// What the change does, in memory.
    package mutating func apply(_ change: JournalChange) {
        switch change {
        case .session(let record):
            if let index = sessions.firstIndex(where: { $0.reference == record.reference }) {
                sessions[index] = record
            } else {
                sessions.append(record)
            }
        case .sessionRemoved(let reference):
            sessions.removeAll { $0.reference == reference }
            transfers.removeAll { $0.sessionReference == reference }
        case .transfer(let record):
            if let index = transfers.firstIndex(where: { $0.reference == record.reference }) {
                transfers[index] = record
            } else {
                transfers.append(record)
            }
        case .transferRemoved(let reference): transfers.removeAll { $0.reference == reference }
        }
    }
}
