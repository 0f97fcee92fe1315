internal import CTestDisk
internal import Glibc
internal import LoadingSemantics
internal import LoadingStorage
internal import StorageSteps

/// Does what a test says to a store, in a process of its own, and dies when it says so.
///
///     storage-writer steps KIND FOLDER ACKNOWLEDGEMENTS CHANGE torn|whole
///     storage-writer record KIND FOLDER LOG RECORDED-FOLDER
///     storage-writer fill KIND FOLDER PREFIX COUNT
@main enum StorageWriter {
    static func main() {
        let words = CommandLine.arguments.dropFirst().map { $0 }
        guard words.count >= 5, let kind = StorageKind(rawValue: words[1]) else { exit(64) }
        let directory = StorageDirectory(path: words[2])
        switch words[0] {
        case "steps" where words.count == 6:
            let change = Int(words[4]) ?? 0
            ctd_kill_at(change, words[2], words[5] == "torn" ? 1 : 0)
            run(kind, directory, words[3])
        case "record":
            ctd_record(words[4], words[3])
            run(kind, directory, nil)
        case "fill":
            let (first, count) = (Int(words[3]) ?? 0, Int(words[4]) ?? 0)
            exit(fill(kind, directory, first: first, count: count) ? 0 : 1)
        default: exit(64)
        }
    }

    private static func run(_ kind: StorageKind, _ directory: StorageDirectory, _ acknowledgements: String?) {
        switch kind {
        case .cookies: run(RecordSteps<Cookie>(in: directory), acknowledgements)
        case .hosts: run(RecordSteps<HSTSRecord>(in: directory), acknowledgements)
        case .alternatives: run(RecordSteps<AlternativeServicesRecord>(in: directory), acknowledgements)
        case .credentials: run(RecordSteps<PersistentCredential>(in: directory), acknowledgements)
        case .responses: run(ResponseSteps(in: directory), acknowledgements)
        }
    }

    /// Each step that is done is a byte more in the file, if there is one, and a mark in the record.
    private static func run(_ steps: some StorageSteps, _ acknowledgements: String?) {
        let file = acknowledgements.map { open($0, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) }
        for step in 0..<type(of: steps).count {
            guard steps.perform(step) else { exit(1) }
            if let file { write(file, ".", 1) }
            ctd_mark(step + 1)
        }
    }

    private static func fill(_ kind: StorageKind, _ directory: StorageDirectory, first: Int, count: Int) -> Bool {
        switch kind {
        case .responses:
            let archive = ResponseArchive(in: directory, capacity: 1 << 30)
            return (first..<first + count).allSatisfy { number in
                archive.store(
                    ResponseSteps.head(number, number),
                    body: ResponseSteps.body(number, number % 3 == 0 ? 20_000 : 500),
                    for: ResponseSteps.key(number), at: Double(number))
            }
        default:
            let archive = CookieArchive(in: directory)
            return (first..<first + count).allSatisfy {
                archive.apply([.stored(.make($0, 1)), .stored(.make(-1, $0))])
            }
        }
    }
}
