package import Foundation

/// What a process has done to a folder (`CTestDisk`), and what a power failure could leave of it.
///
/// The model: the content of a file is on the disk when the file was synchronized, and the names in a folder when the
/// folder was. What was not is on the disk in part, in any order.
package struct DiskRecord {
    package enum Operation {
        case created(inode: Int64, folder: Int64, String)
        case written(inode: Int64, offset: Int, Data)
        case truncated(inode: Int64, length: Int)
        case renamed(folder: Int64, from: String, to: String)
        case unlinked(folder: Int64, String)
        case folderMade(inode: Int64, folder: Int64, String)
        case synchronized(inode: Int64)
        /// Everything up to here was promised.
        case marked(Int)

        /// The file or folder that must be synchronized for it. Nil for what does not change the disk.
        var concerned: Int64? {
            switch self {
            case .written(let inode, _, _), .truncated(let inode, _): inode
            case .created(_, let folder, _), .folderMade(_, let folder, _), .renamed(let folder, _, _),
                .unlinked(let folder, _):
                folder
            case .synchronized, .marked: nil
            }
        }

        var isContent: Bool {
            switch self {
            case .written, .truncated: true
            default: false
            }
        }
    }

    package let operations: [Operation]

    package init(_ log: Data) throws {
        var operations: [Operation] = []
        var rest = log[...]
        func number() -> Int64 {
            defer { rest = rest.dropFirst(8) }
            return rest.prefix(8).enumerated().reduce(0) { $0 | Int64($1.element) << (8 * Int64($1.offset)) }
        }
        func take(_ count: Int64) -> Data {
            defer { rest = rest.dropFirst(Int(count)) }
            return Data(rest.prefix(Int(count)))
        }
        while rest.count >= 40 {
            let (kind, inode, value, first, second) = (number(), number(), number(), number(), number())
            let (content, other) = (take(first), String(decoding: take(second), as: UTF8.self))
            let name = String(decoding: content, as: UTF8.self)
            switch kind {
            case 1: operations.append(.created(inode: inode, folder: value, name))
            case 2: operations.append(.written(inode: inode, offset: Int(value), content))
            case 3: operations.append(.truncated(inode: inode, length: Int(value)))
            case 4: operations.append(.renamed(folder: value, from: other, to: name))
            case 5: operations.append(.unlinked(folder: value, name))
            case 6: operations.append(.folderMade(inode: inode, folder: value, name))
            case 7: operations.append(.synchronized(inode: inode))
            case 8: operations.append(.marked(Int(value)))
            default: throw Unknown(kind: kind)
            }
        }
        self.operations = operations
    }

    struct Unknown: Error { let kind: Int64 }

    /// A state of the disk after a power failure.
    package struct Crash {
        /// The number of operations before it.
        package let end: Int
        package let name: String
        /// The operations that are not on the disk, and one of which only a part is.
        let lost: Set<Int>
        var torn: Int?
        /// The number of steps that were promised before it.
        package let promised: Int
    }

    /// The numbers that were marked before that operation.
    package func marks(before end: Int) -> Set<Int> {
        Set(operations[..<end].compactMap { if case .marked(let number) = $0 { number } else { nil } })
    }

    /// States for each moment: nothing is lost; everything that may be; only content; only names; names from one on;
    /// some; half of the last write.
    package func crashes<Generator: RandomNumberGenerator>(using generator: inout Generator) -> [Crash] {
        var crashes: [Crash] = []
        var unsynchronized: [Int] = []
        var promised = 0
        for end in 0...operations.count {
            if end > 0 {
                switch operations[end - 1] {
                case .synchronized(let inode): unsynchronized.removeAll { operations[$0].concerned == inode }
                case .marked(let number): promised = number
                default: unsynchronized.append(end - 1)
                }
            }
            let content = unsynchronized.filter { operations[$0].isContent }
            let names = unsynchronized.filter { !operations[$0].isContent }
            func add(_ name: String, _ lost: some Sequence<Int>, torn: Int? = nil) {
                crashes.append(Crash(end: end, name: name, lost: Set(lost), torn: torn, promised: promised))
            }
            add("nothing lost", [])
            if !content.isEmpty { add("content lost", content) }
            for first in names.indices { add("names lost from \(first)", names[first...]) }
            if !content.isEmpty, !names.isEmpty { add("everything lost", unsynchronized) }
            if unsynchronized.count > 1 {
                for _ in 0..<4 { add("some lost", unsynchronized.filter { _ in Bool.random(using: &generator) }) }
            }
            if let last = content.last { add("torn", [], torn: last) }
        }
        return crashes
    }

    /// Makes the folder as it is after the power failure.
    package func make(_ crash: Crash, at folder: URL) throws {
        var contents: [Int64: Data] = [:]
        var names: [String: Int64] = [:]
        var folders: [String] = []
        for index in 0..<crash.end where !crash.lost.contains(index) {
            switch operations[index] {
            case .created(let inode, _, let name): names[name] = inode
            case .written(let inode, let offset, let data):
                // Sectors are written whole.
                let kept = crash.torn == index ? data.prefix(data.count / 2 / 512 * 512) : data
                Self.put(kept, at: offset, in: &contents[inode, default: Data()])
            case .truncated(let inode, let length): Self.resize(&contents[inode, default: Data()], to: length)
            case .renamed(_, let from, let to): names[to] = names.removeValue(forKey: from) ?? names[to]
            case .unlinked(_, let name): names[name] = nil
            case .folderMade(_, _, let name): folders.append(name)
            case .synchronized, .marked: break
            }
        }
        for name in folders {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
        }
        for (name, inode) in names {
            let file = folder.appendingPathComponent(name)
            // With its folder, all names in it are lost.
            guard FileManager.default.fileExists(atPath: file.deletingLastPathComponent().path) else { continue }
            try contents[inode, default: Data()].write(to: file)
        }
    }

    private static func put(_ data: Data, at offset: Int, in content: inout Data) {
        if content.count < offset + data.count { resize(&content, to: offset + data.count) }
        content.replaceSubrange(offset..<offset + data.count, with: data)
    }

    private static func resize(_ content: inout Data, to length: Int) {
        if content.count > length {
            content.removeLast(content.count - length)
        } else {
            content.append(Data(count: length - content.count))
        }
    }
}

/// The same numbers in each run.
package struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// SplitMix64.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
