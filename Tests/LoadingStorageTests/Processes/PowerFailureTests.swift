import Foundation
import LoadingSemantics
import LoadingStorage
import StorageSteps
import TestSupport
import Testing

/// The power fails at each moment of the life of a store, and what was not synchronized is on the disk in part.
@Suite(.leakChecked) struct PowerFailureTests {
    private func check<Steps: StorageSteps>(_ kind: StorageKind, _ steps: Steps.Type) throws {
        let directory = try TemporaryDirectory()
        let disk = directory.file("disk")
        try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: false)
        // None of these folders exists, as when a user runs a program for the first time.
        let folder = disk.path + "/share/program"
        let record = try StorageWriterProcess.record(kind, in: folder, of: disk.path)
        var generator = SeededGenerator(seed: 1)
        let crashes = record.crashes(using: &generator)
        #expect(record.operations.count > 6 * Steps.count)
        var wrong: [String] = []
        for crash in crashes {
            try FileManager.default.removeItem(at: disk)
            try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: false)
            try record.make(crash, at: disk)
            let state = Steps(in: StorageDirectory(path: folder)).state()
            let expected = (crash.promised...min(crash.promised + 1, Steps.count)).map { Steps.state(after: $0) }
            if !expected.contains(state) {
                wrong.append("\(crash.name) after operation \(crash.end), of \(crash.promised) steps")
            }
        }
        #expect(wrong.isEmpty, "\(wrong.count) of \(crashes.count) states: \(wrong.prefix(5))")
    }

    // S-88, COOK-19
    @Test("cookies") func cookies() throws { try check(.cookies, RecordSteps<Cookie>.self) }

    // TLS-7
    @Test("hosts") func hosts() throws { try check(.hosts, RecordSteps<HSTSRecord>.self) }

    // S-88
    @Test("credentials") func credentials() throws { try check(.credentials, RecordSteps<PersistentCredential>.self) }
}
