import Foundation
import Glibc

/// The resources of this process, as reported by the kernel and malloc.
struct ProcessState: Sendable {
    var descriptors: [String]
    var threads: [String]
    /// In bytes; nil if malloc does not report it.
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

    /// The value of a line of /proc/self/status, converted from kilobytes to bytes.
    private static func status(_ name: String) -> Int {
        let lines = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8))?.split(separator: "\n") ?? []
        let line = lines.first { $0.hasPrefix("\(name):") }
        return (line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) * 1024
    }

    /// The peak resident memory since the last `forgetPeak`.
    static var peak: Int { status("VmHWM") }

    static func forgetPeak() { try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs")) }

    /// Sanitizers change the use of memory.
    static let isSanitized = ["__asan_init", "__tsan_init"].contains { (name: String) in dlsym(nil, name) != nil }
}
