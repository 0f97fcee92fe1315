import Foundation
import LoadingPipeline
import TestSupport
import Testing

@testable import BackgroundTransfers

/// What a new process of the service trusts of the files of an earlier one.
struct RestoredTransferTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func part(_ name: String, received: Int64, total: Int64? = nil) throws -> TransferResumption {
        let json = """
            {"path": "\(folder.path)/\(name)", "originalURL": "http://a/", "url": "http://a/", "fields": [], \
            "entityTag": "\\"1\\"", "bytesReceived": \(received)\(total.map { ", \"total\": \($0)" } ?? "")}
            """
        return .download(try JSONDecoder().decode(TransferResumption.Download.self, from: Data(json.utf8)))
    }

    private func received(_ resumption: TransferResumption?) -> Int64? {
        guard case .download(let part)? = resumption else { return nil }
        return part.bytesReceived
    }

    private func record() -> TransferRecord {
        TransferRecord(
            application: "app", session: "s",
            description: TransferDescription(
                task: 1, kind: .download, request: TransferRequest(url: "http://a/", folder: folder.path)))
    }

    // BG-10: while no service ran. Of a boot of before it is not known whether its clock was right
    @Test(
        "the clock was set since the record was written",
        arguments: [("this", 1000.0, 1010.0), ("this", -1000, -990), ("this", 0.5, 10), ("another", 1000, 10)])
    func clockSet(boot: String, by change: Double, started: Double) throws {
        var record = record()
        _ = record.follow(MachineClock(boot: "this", offset: 7))
        record.started = 10
        var read = try JSONDecoder().decode(TransferRecord.self, from: JSONEncoder().encode(record))
        let now = MachineClock(boot: boot, offset: 7 + change)
        let isChanged = read.follow(now)
        #expect(isChanged == (started != 10) && read.started == started)
        let isChangedAgain = read.follow(now)
        #expect(!isChangedAgain && read.started == started)
    }

    private func write(_ count: Int, to name: String) throws {
        try Data(count: count).write(to: URL(fileURLWithPath: folder.path + "/" + name))
    }

    // BG-5: a killed process leaves all bytes; a power failure only those that were synchronized
    @Test(
        "what counts of a file",
        arguments: [
            // Length, synchronized, same boot, counted.
            (1000, 400, true, 1000), (1000, 400, false, 400), (300, 400, true, 300), (300, 400, false, 300),
            (1000, 0, false, 0), (0, 0, true, 0), (2000, 400, true, 1999), (2000, 2000, false, 1999),
        ])
    func counted(length: Int, synced: Int64, isSameBoot: Bool, expected: Int64) throws {
        try write(length, to: "part")
        var record = record()
        record.resumption = try part("part", received: 5000, total: 2000)
        record.syncedBytes = synced
        record.boot = "this"
        let restored = ServiceTransfer.restored(record, boot: isSameBoot ? "this" : "next")
        #expect(received(restored.resumption) == expected)
        // What is requested again is not certain any more.
        #expect(restored.syncedBytes == min(synced, expected))
    }

    // BG-5: on a system without an id of the boot
    @Test("what counts of a file of an unknown boot", arguments: [("", ""), ("this", ""), ("", "this")])
    func unknownBoot(boot: String, now: String) throws {
        try write(1000, to: "part")
        var record = record()
        record.resumption = try part("part", received: 5000, total: 2000)
        record.syncedBytes = 400
        record.boot = boot
        #expect(received(ServiceTransfer.restored(record, boot: now).resumption) == 400)
    }

    // BG-5
    @Test("a file that is gone, or that is longer than the resource") func useless() throws {
        var record = record()
        record.resumption = try part("none", received: 10, total: 2000)
        record.boot = "this"
        #expect(ServiceTransfer.restored(record, boot: "this").resumption == nil)
        try write(2001, to: "long")
        record.resumption = try part("long", received: 10, total: 2000)
        #expect(ServiceTransfer.restored(record, boot: "this").resumption == nil)
        #expect(ServiceTransfer.restored(record, boot: "this").syncedBytes == 0)
    }

    // BG-8: the download starts again in a new file, whose bytes nothing is known of
    @Test("a new file has no synchronized bytes") func newFile() throws {
        var machine = TransferMachine(record(), isConditionMet: true)
        _ = machine.handle(.resume, now: 1)
        _ = machine.handle(.place, now: 1)
        #expect(machine.handle(.checkpoint(try part("first", received: 10)), now: 2) == [.save])
        machine.update { $0.syncedBytes = 4096 }
        // The same file goes on.
        _ = machine.handle(.checkpoint(try part("first", received: 5000)), now: 3)
        #expect(machine.record.syncedBytes == 4096)
        _ = machine.handle(.checkpoint(try part("second", received: 10)), now: 4)
        #expect(machine.record.syncedBytes == 0)
        machine.update { $0.syncedBytes = 8 }
        // The file was cut.
        _ = machine.handle(.checkpoint(try part("second", received: 6)), now: 5)
        #expect(machine.record.syncedBytes == 6)
        // The attempt ends without a part.
        _ = machine.handle(.failed(TransferFailure(code: -1005), nil, jitter: 0), now: 6)
        #expect(machine.record.syncedBytes == 0)
        // The journal keeps the number.
        var record = record()
        record.resumption = try part("part", received: 10)
        record.syncedBytes = 7
        #expect(try JSONDecoder().decode(TransferRecord.self, from: JSONEncoder().encode(record)).syncedBytes == 7)
    }

    // BG-2, BG-6: also those of commands that a program could not send, which may be older than any transfer
    @Test("the files that are kept") func files() throws {
        var record = record()
        record.description.request.bodyFile = "/body"
        record.resumption = try part("now", received: 1)
        record.description.request.resumption = try part("before", received: 1)
        var ended = self.record()
        ended.end = TransferEnd(
            order: 1, head: nil, progress: TransferProgress(), outcome: .file("/ended"), metrics: nil)
        var failed = self.record()
        failed.end = TransferEnd(
            order: 2, head: nil, progress: TransferProgress(),
            outcome: .failed(TransferFailure(code: -1001), try part("failed", received: 1)), metrics: nil)
        let inFolder = { [folder] in folder.path + "/" + $0 }
        #expect(
            JournalContents(transfers: [record, ended, failed, self.record()]).files
                == ["/body", inFolder("now"), inFolder("before"), "/ended", inFolder("failed")])
        #expect(Set(ServiceCommand.create(record.description).files) == ["/body", inFolder("before")])
        #expect(Set(ServiceCommand.begin(task: 1, record.description.request).files) == ["/body", inFolder("before")])
        #expect(ServiceCommand.begin(task: 1, nil).files == [] && ServiceCommand.resume(task: 1).files == [])
    }
}

/// What a start of the service removes.
struct FileKeeperTests {
    // BG-2
    @Test("files that nothing refers to") func clean() throws {
        let folder = try TemporaryDirectory()
        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
        for name in ["known", "orphan"] { _ = try folder.write("x", to: name) }
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/link", withDestinationPath: "/etc/hostname")
        try FileManager.default.createDirectory(at: folder.file("folder"), withIntermediateDirectories: false)
        let known: Set = [folder.path + "/known"]
        FileKeeper.clean(folder.path, keeping: known)
        #expect(try names() == ["folder", "known", "link"])
        FileKeeper.clean(folder.path + "/missing", keeping: [])
    }
}
