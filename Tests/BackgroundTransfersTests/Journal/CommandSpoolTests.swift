import Foundation
import Glibc
import TestSupport
import Testing

@testable import BackgroundTransfers

struct CommandSpoolTests {
    private static let commands: [ServiceCommand] = [
        .resume(task: 1), .setTaskDescription(task: 1, "name"), .acknowledge(task: 1, .end),
    ]

    private static func encoded(_ range: ClosedRange<Int>) -> [EncodedCommand] {
        commands[range].map { EncodedCommand($0) }
    }

    // BG-6, BG-12
    @Test("commands are read with their numbers, and emptied when all are committed") func written() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/spool"
        #expect(CommandSpool.entries(at: path) == [])
        let spool = try CommandSpool(path: path)
        try spool.append(Self.encoded(0...1), from: 7)
        try spool.append(Self.encoded(2...2), from: 9)
        let entries = CommandSpool.entries(at: path)
        #expect(entries.map(\.number) == [7, 8, 9])
        #expect(entries.map(\.command) == Self.commands)
        spool.committed(8)
        #expect(CommandSpool.entries(at: path).count == 3)
        spool.committed(9)
        #expect(CommandSpool.entries(at: path) == [])
        try spool.append(Self.encoded(0...0), from: 10)
        // What another program has left before stays readable.
        try CommandSpool(path: path).append(Self.encoded(1...1), from: 11)
        #expect(CommandSpool.entries(at: path).map(\.number) == [10, 11])
    }

    // A power cut may leave any part of the last entry, or zeros.
    @Test("cut and damaged at every byte") func cut() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/spool"
        let spool = try CommandSpool(path: path)
        var ends: [Int] = [0]
        for (index, command) in Self.commands.enumerated() {
            try spool.append([EncodedCommand(command)], from: UInt64(index + 1))
            ends.append(try Data(contentsOf: URL(fileURLWithPath: path)).count)
        }
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        for count in 0...bytes.count {
            let whole = ends.lastIndex { $0 <= count } ?? 0
            #expect(CommandSpool.entries(in: Array(bytes[..<count])).count == whole)
            #expect(CommandSpool.entries(in: Array(bytes[..<count]) + [UInt8](repeating: 0, count: 64)).count == whole)
        }
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] ^= 0x10
            let whole = (ends.lastIndex { $0 <= index } ?? 0)
            #expect(CommandSpool.entries(in: damaged).map(\.command) == Array(Self.commands[..<whole]))
        }
    }

    // BG-6: the errno is EBADF if the descriptor is closed again, which another thread may have been given meanwhile
    @Test("a file that has another name too is refused, and closed once") func otherName() throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("", to: "spool")
        try FileManager.default.linkItem(at: file, to: folder.file("other"))
        errno = 0
        let spool = try? CommandSpool(path: file.path)
        let code = errno
        #expect(spool == nil)
        #expect(code == 0)
    }

    // BG-12: a program is killed within a write, and the next one goes on
    @Test("a torn entry hides nothing that follows") func torn() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/spool"
        try CommandSpool(path: path).append(Self.encoded(0...0), from: 1)
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        for count in 1..<whole.count {
            try (whole + whole.prefix(count)).write(to: URL(fileURLWithPath: path))
            try CommandSpool(path: path).append(Self.encoded(2...2), from: 2)
            #expect(CommandSpool.entries(at: path).map(\.number) == [1, 2])
        }
    }

    // BG-6, BG-12: a program that gives commands all the time
    @Test("a file of which half is committed is replaced") func replaced() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/spool"
        let spool = try CommandSpool(path: path, smallestReplacement: 2000)
        var largest = 0
        for number in 1...1000 as ClosedRange<UInt64> {
            try spool.append([EncodedCommand(.resume(task: Int(number)))], from: number)
            // Ten commands are on their way to the journal.
            if number > 10 { spool.committed(number - 10) }
            let entries = CommandSpool.entries(at: path)
            #expect(entries.map(\.number).suffix(10) == Array(max(1, number - min(number, 10) + 1)...number).suffix(10))
            #expect(entries.allSatisfy { $0.command == .resume(task: Int($0.number)) })
            largest = max(largest, try Data(contentsOf: URL(fileURLWithPath: path)).count)
        }
        #expect(largest < 3000)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["spool"])
        // Many commands wait: none is copied again and again.
        for number in 1001...2000 as ClosedRange<UInt64> {
            try spool.append([EncodedCommand(.resume(task: Int(number)))], from: number)
        }
        var inodes: Set<UInt64> = []
        for number in 1001...1999 as ClosedRange<UInt64> {
            spool.committed(number)
            var status = stat()
            #expect(stat(path, &status) == 0)
            inodes.insert(UInt64(status.st_ino))
            #expect(CommandSpool.entries(at: path).last?.number == 2000)
        }
        #expect((2...8).contains(inodes.count))
        spool.committed(2000)
        #expect(CommandSpool.entries(at: path) == [])
        try spool.append(Self.encoded(0...0), from: 2001)
        #expect(CommandSpool.entries(at: path).map(\.number) == [2001])
    }

    // BG-7: the service has removed it for another session object
    @Test("a file that was removed does not come back") func removed() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/spool"
        let spool = try CommandSpool(path: path, smallestReplacement: 0)
        for number in 1...10 as ClosedRange<UInt64> { try spool.append(Self.encoded(0...0), from: number) }
        try FileManager.default.removeItem(atPath: path)
        spool.committed(5)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        #expect(spool.isRemoved)
        // A file in the place of the other one is not written to.
        let target = try folder.write("mine", to: "target")
        let second = try CommandSpool(path: path, smallestReplacement: 0)
        for number in 1...10 as ClosedRange<UInt64> { try second.append(Self.encoded(0...0), from: number) }
        try FileManager.default.createSymbolicLink(atPath: path + "+new", withDestinationPath: target.path)
        second.committed(5)
        #expect(CommandSpool.entries(at: path).count == 10)
        #expect(try String(contentsOf: target, encoding: .utf8) == "mine")
    }

    // BG-2: also in the place of another file
    @Test("a file is in use as long as an object has it") func inUse() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/spool"
        #expect(!CommandSpool.isInUse(at: path))
        for _ in 0..<2 {
            var spools = [try CommandSpool(path: path, smallestReplacement: 0), try CommandSpool(path: path)]
            #expect(CommandSpool.isInUse(at: path))
            spools.removeLast()
            for number in 1...10 as ClosedRange<UInt64> { try spools[0].append(Self.encoded(0...0), from: number) }
            spools[0].committed(5)
            #expect(CommandSpool.isInUse(at: path))
            spools.removeLast()
            #expect(!CommandSpool.isInUse(at: path))
        }
    }

    // BG-2: the service looks at any time
    @Test("a look whether a file is in use disturbs no object, and finds one that goes on in another file")
    func inUseMeanwhile() async throws {
        let folder = try TemporaryDirectory()
        let (path, otherPath) = (folder.path + "/spool", folder.path + "/other")
        let first = try CommandSpool(path: path, smallestReplacement: 0)
        let isOver = Watched(false)
        let misses = Task.detached {
            var count = 0
            while !isOver.current {
                if !CommandSpool.isInUse(at: path) { count += 1 }
                _ = CommandSpool.isInUse(at: otherPath)
            }
            return count
        }
        defer { isOver.withValue { $0 = true } }
        var number: UInt64 = 0
        var missed = 0
        for _ in 0..<500 {
            for _ in 0..<10 {
                number += 1
                try first.append(Self.encoded(0...0), from: number)
            }
            first.committed(number - 1)
            let other = try CommandSpool(path: otherPath)
            if !CommandSpool.isInUse(at: otherPath) { missed += 1 }
            withExtendedLifetime(other) {}
        }
        isOver.withValue { $0 = true }
        #expect(missed == 0)
        #expect(await misses.value == 0)
        withExtendedLifetime(first) {}
    }

    @Test("no other file is opened") func links() throws {
        let folder = try TemporaryDirectory()
        let target = try folder.write("mine", to: "target")
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/symbolic", withDestinationPath: target.path)
        try FileManager.default.linkItem(atPath: target.path, toPath: folder.path + "/hard")
        for name in ["symbolic", "hard", "missing/spool"] {
            #expect(throws: CommandSpool.Failure.self) { try CommandSpool(path: folder.path + "/" + name) }
            #expect(CommandSpool.entries(at: folder.path + "/" + name) == [])
        }
        #expect(try String(contentsOf: target, encoding: .utf8) == "mine")
    }
}
