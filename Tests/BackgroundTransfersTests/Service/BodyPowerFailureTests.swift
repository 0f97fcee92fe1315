import Foundation
import Glibc
import LoadingPipeline
import LoadingStorage
import TestSupport
import Testing

@testable import BackgroundTransfers

/// The power fails at each moment of some transfers, and what was not synchronized of the journal and of the bodies is
/// on the disk in part.
@Suite(.leakChecked) struct BodyPowerFailureTests {
    private static let size = 60_000
    private static let half = 30_000

    /// The body of a download in that version, no part of which is like another.
    private static func body(_ task: Int, version: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8 ^ task << 4 ^ version << 7) }
    }

    private static func upload(_ task: Int) -> Data { Data(repeating: UInt8(task), count: 20_000) }

    /// Task 1 is downloaded at once, 3 in two parts, and 4 changes when its half has arrived.
    private static func serve(_ connection: ServerConnection) throws {
        while let request = try connection.nextRequest() {
            guard request.target.hasPrefix("/down/"), let task = Int(request.target.dropFirst(6)) else {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                continue
            }
            let isAgain = request["Range"] != nil
            let version = isAgain && task == 4 ? 2 : 1
            let fields = "ETag: \"\(version)\"\r\nAccept-Ranges: bytes\r\n"
            var rest = body(task, version: version)[...]
            if isAgain, task == 3, let start = request["Range"].flatMap({ Int($0.dropFirst(6).dropLast()) }) {
                rest = rest[start...]
                try connection.send(
                    "HTTP/1.1 206 Partial Content\r\nContent-Length: \(rest.count)\r\n\(fields)"
                        + "Content-Range: bytes \(start)-\(size - 1)/\(size)\r\n\r\n")
            } else {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\(fields)\r\n")
            }
            if task != 1, !isAgain { rest = rest.prefix(half) }
            while !rest.isEmpty {
                try connection.send(Array(rest.prefix(4000)))
                rest = rest.dropFirst(4000)
                // So that it arrives in many pieces.
                usleep(2000)
            }
            if task != 1, !isAgain { return connection.closeAbruptly() }
        }
    }

    // BG-5, BG-6, BG-8: no promise is broken, and no wrong byte is trusted
    @Test("no body is wrong") func bodies() throws {
        let server = try ScriptedServer { try Self.serve($0) }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let folder = directory.file("state")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("transfer-writer")
        let log = directory.file("log")
        let base = server.url().absoluteString
        let (exit, output) = try ChildProcess.run(
            program.path, [folder.path, log.path, base.hasSuffix("/") ? String(base.dropLast()) : base],
            environment: [
                "XDG_DATA_HOME": directory.path + "/data", "XDG_CACHE_HOME": directory.path + "/cache",
                "XDG_STATE_HOME": directory.path + "/own",
            ])
        #expect(exit == .code(0), "\(output)")
        let record = try DiskRecord(try Data(contentsOf: log))
        var generator = SeededGenerator(seed: 1)
        // Each state costs a journal and all bodies, so a sample of them is made.
        let all = record.crashes(using: &generator)
        let crashes = stride(from: 0, to: all.count, by: max(1, all.count / 120)).map { all[$0] }
        var trusted = 0
        var wrong: [String] = []
        for crash in crashes {
            // At the same path, which the records contain.
            try FileManager.default.removeItem(at: folder)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            try record.make(crash, at: folder)
            let marks = record.marks(before: crash.end)
            if let fault = try Self.fault(in: folder.path, marks, &trusted) {
                wrong.append("\(crash.name) after operation \(crash.end): \(fault)")
            }
        }
        #expect(wrong.isEmpty, "\(wrong.count) of \(crashes.count) states: \(wrong.prefix(5))")
        // Otherwise nothing was tried.
        #expect(record.marks(before: record.operations.count).isSuperset(of: [2001, 2002, 2003, 2004]))
        #expect(crashes.count >= 100)
        #expect(trusted > 10)
    }

    /// What is wrong after that power failure; nil if nothing is.
    ///
    /// - Parameter trusted: Counts the parts that a new service goes on with.
    private static func fault(in folder: String, _ marks: Set<Int>, _ trusted: inout Int) throws -> String? {
        let file = JournalFile(in: StorageDirectory(path: folder), notify: { _ in }, lost: {})
        guard case .success(let contents) = file.load() else { return "the journal is unreadable" }
        let records = Dictionary(uniqueKeysWithValues: contents.transfers.map { ($0.description.task, $0) })
        let committed = marks.filter { $0 < 1000 }.max() ?? 0
        for task in 1...5 {
            if committed >= task, !marks.contains(3000 + task), records[task] == nil { return "\(task) is lost" }
            if marks.contains(2000 + task), records[task] != nil { return "\(task) is reported again" }
            if marks.contains(1000 + task), !marks.contains(3000 + task), records[task]?.end == nil {
                return "the end of \(task) is lost"
            }
        }
        for (task, record) in records {
            switch record.end?.outcome {
            case .file(let path):
                guard record.end?.delivered == .nothing else { continue }
                let expected = task == 2 ? [Data("ok".utf8)] : [1, 2].map { Data(body(task, version: $0)) }
                guard let content = content(path), expected.contains(content) else { return "the file of \(task)" }
            case .some: return "\(task) has failed"
            case nil:
                if let path = record.description.request.bodyFile, content(path) != upload(task) {
                    return "the body of \(task)"
                }
                guard case .download(let part)? = ServiceTransfer.restored(record, boot: "the next").resumption,
                    part.bytesReceived > 0
                else { continue }
                trusted += 1
                let version = try entityTag(of: part) == "\"2\"" ? 2 : 1
                guard let content = content(part.path),
                    content.prefix(Int(part.bytesReceived)).elementsEqual(
                        body(task, version: version).prefix(Int(part.bytesReceived)))
                else { return "the part of \(task), \(part.bytesReceived) bytes" }
            }
        }
        return nil
    }

    private static func content(_ path: String) -> Data? { try? Data(contentsOf: URL(fileURLWithPath: path)) }

    private static func entityTag(of part: TransferResumption.Download) throws -> String? {
        let fields = try JSONSerialization.jsonObject(with: JSONEncoder().encode(part)) as? [String: Any]
        return fields?["entityTag"] as? String
    }
}
