internal import CTestTLS
internal import Foundation

/// How much memory this process has in use.
package enum Memory {
    /// Bytes that are resident now.
    package static var resident: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    /// Bytes that are allocated and not freed. A sanitizer has an allocator of its own, which says nothing.
    package static var allocated: Int { Int(clamping: ctt_allocated()) }

    /// So many bytes as a limit: more under a sanitizer, which holds back what was freed, to find who still uses it.
    package static func limit(_ bytes: Int) -> Int { isSanitized ? bytes + (512 << 20) : bytes }

    private static let isSanitized = ["__asan_init", "__tsan_init"].contains { (name: String) in
        dlsym(nil, name) != nil
    }
}
