import Foundation
import Glibc

/// What this process holds, as the kernel and the allocator tell it.
struct ProcessState: Sendable {
    var descriptors: [String]
    var threads: [String]
    /// Bytes; nil where the allocator does not tell.
    var heapInUse: Int?
    var resident: Int

    static var current: Self {
        Self(
            descriptors: list("/proc/self/fd") { number in
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
            },
            threads: list("/proc/self/task") { number in
                (try? String(contentsOfFile: "/proc/self/task/\(number)/comm", encoding: .utf8))?
                    .trimmingCharacters(in: .newlines)
            },
            heapInUse: Allocator.inUse, resident: status("VmRSS"))
    }

    private static func list(_ folder: String, _ name: (String) -> String?) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap(name).sorted()
    }

    /// A line of /proc/self/status that is in kilobytes, in bytes.
    private static func status(_ name: String) -> Int {
        let lines = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8))?.split(separator: "\n") ?? []
        let line = lines.first { $0.hasPrefix("\(name):") }
        return (line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) * 1024
    }

    /// The most memory that was resident since the last `forgetPeak`.
    static var peak: Int { status("VmHWM") }

    static func forgetPeak() { try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs")) }

    /// A sanitizer changes what memory means.
    static let isSanitized = ["__asan_init", "__tsan_init"].contains { (name: String) in dlsym(nil, name) != nil }
}

/// Asks glibc's allocator, whose own interface Swift does not import.
enum Allocator {
    private typealias Trim = @convention(c) (Int) -> Int32
    private typealias Info = @convention(c) (Int32, UnsafeMutableRawPointer) -> Int32

    static func trim() {
        guard let symbol = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(symbol, to: Trim.self)(0)
    }

    /// Bytes that are allocated and not freed.
    static var inUse: Int? {
        guard !ProcessState.isSanitized, let report else { return nil }
        // The totals of all arenas come last.
        guard let totals = report.range(of: "</heap>", options: .backwards).map({ report[$0.upperBound...] }) else {
            return nil
        }
        guard let fast = number(in: totals, after: "type=\"fast\""),
            let rest = number(in: totals, after: "type=\"rest\""),
            let mapped = number(in: totals, after: "type=\"mmap\""),
            let system = number(in: totals, after: "<system type=\"current\"")
        else { return nil }
        return system - fast - rest + mapped
    }

    private static func number(in text: Substring, after mark: String) -> Int? {
        guard let place = text.range(of: mark),
            let size = text[place.upperBound...].range(of: "size=\"")
        else { return nil }
        return Int(text[size.upperBound...].prefix(while: \.isNumber))
    }

    private static var report: String? {
        guard let symbol = dlsym(nil, "malloc_info") else { return nil }
        var text: UnsafeMutablePointer<CChar>?
        var size = 0
        guard let stream = open_memstream(&text, &size) else { return nil }
        _ = unsafeBitCast(symbol, to: Info.self)(0, UnsafeMutableRawPointer(stream))
        fclose(stream)
        defer { free(text) }
        return text.map { String(cString: $0) }
    }
}
