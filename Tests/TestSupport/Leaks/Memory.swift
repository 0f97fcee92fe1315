internal import CTestTLS
internal import Foundation

/// The memory use of this process.
package enum Memory {
    /// The resident set size in bytes.
    package static var resident: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    /// The number of allocated bytes. Not available with a sanitizer's allocator.
    package static var allocated: Int { Int(clamping: ctt_allocated()) }

    /// A limit in bytes, higher with a sanitizer, which delays freeing to detect use after free.
    package static func limit(_ bytes: Int) -> Int { isSanitized ? bytes + (512 << 20) : bytes }

    package static let isSanitized = ["__asan_init", "__tsan_init"].contains { (name: String) in
        dlsym(nil, name) != nil
    }
}
