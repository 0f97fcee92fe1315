import Foundation
import Glibc

/// Statistics of glibc's malloc, whose `malloc_info` Swift does not import.
enum Allocator {
    private typealias Trim = @convention(c) (Int) -> Int32
    private typealias Info = @convention(c) (Int32, UnsafeMutableRawPointer) -> Int32

    static func trim() {
        guard let symbol = dlsym(nil, "malloc_trim") else { return }
        _ = unsafeBitCast(symbol, to: Trim.self)(0)
    }

    /// The number of allocated bytes.
    static var inUse: Int? {
        guard !ProcessState.isSanitized, let report else { return nil }
        // The totals of all arenas are at the end.
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
        guard let range = text.range(of: mark),
            let size = text[range.upperBound...].range(of: "size=\"")
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
