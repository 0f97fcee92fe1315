import BackgroundTransfers
import FoundationEssentials
import Glibc
import LoadingPipeline
import LoadingStorage

/// A journal of which anything may have been changed.
final class JournalRun: Sendable {
    static let shared = JournalRun()

    private let folder: String
    private let image: [UInt8]
    private let sessions: [SessionRecord]
    private let transfers: [TransferRecord]

    private init() {
        var template = Array("/dev/shm/journal-fuzz.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { preconditionFailure("no folder") }
        folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        var session = SessionRecord(application: "app", description: SessionDescription(identifier: "s"))
        session.nextIdentifier = 30
        sessions = [session]
        transfers = (1..<30).map { task in
            TransferRecord(
                application: "app", session: "s",
                description: TransferDescription(
                    task: task, kind: .download, request: TransferRequest(url: "http://localhost/\(task)", folder: "/"))
            )
        }
        let file = JournalFile(in: StorageDirectory(path: folder), notify: { _ in }, lost: {})
        let failures = file.apply([[.session(session)] + transfers.map { .transfer($0) }])
        precondition(failures == [nil], "no journal")
        image = Array(FileManager.default.contents(atPath: folder + "/journal") ?? Data())
        precondition(image.count > 8192, "no file")
    }

    func run(_ changes: UnsafeBufferPointer<UInt8>) {
        var bytes = image
        for index in stride(from: 0, to: changes.count - 2, by: 3) {
            let place = (Int(changes[index]) << 8 | Int(changes[index + 1])) % max(1, bytes.count)
            if changes[index] == 255 {
                bytes.removeLast(bytes.count - place)
            } else {
                bytes[place] = changes[index + 2]
            }
            if bytes.isEmpty { break }
        }
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] { unlink(folder + "/" + name) }
        FileManager.default.createFile(atPath: folder + "/journal", contents: Data(bytes))
        let file = JournalFile(in: StorageDirectory(path: folder), notify: { _ in }, lost: {})
        if case .success(let contents) = file.load() {
            precondition(contents.transfers.allSatisfy { transfers.contains($0) }, "a transfer that was never stored")
            precondition(
                contents.sessions.allSatisfy { $0.reference == sessions[0].reference },
                "a session that was never stored")
        }
        // It goes on, or says why not.
        let new = SessionRecord(application: "app", description: SessionDescription(identifier: "new"))
        guard file.apply([[.session(new)]]) == [nil] else { return }
        guard case .success(let contents) = file.load() else { preconditionFailure("written, but not readable") }
        precondition(contents.sessions.contains(new), "written, but not there")
    }
}
