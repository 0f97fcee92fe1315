internal import FoundationEssentials
internal import Glibc

/// Gathers a body in one piece of memory that becomes the caller's `Data` without a copy.
///
/// With an announced length the memory has that size at once when it is small; a large announcement is believed only
/// as far as bytes come, so a server can't make us allocate what it never sends.
struct BodyCollector: ~Copyable {
    private var memory: UnsafeMutableRawPointer?
    private var capacity = 0
    private(set) var count = 0
    private var expected: Int?

    /// Announcements up to this many bytes are believed.
    private static let believed = 1 << 20
    private static let firstCapacity = 16 * 1024

    init() {}

    deinit { free(memory) }

    mutating func expect(_ length: Int64) {
        expected = length >= 0 && length < Int64(Int.max / 4) ? Int(length) : nil
    }

    /// False when there is no memory for them.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return true }
        guard reserve(bytes.count), let memory else { return false }
        memcpy(memory + count, source, bytes.count)
        count += bytes.count
        return true
    }

    /// Free room for at least one byte and at the most `most`; what was written there is reported with `filled`.
    mutating func room(_ most: Int) -> UnsafeMutableRawBufferPointer? {
        let wanted = min(most, max(256 * 1024, min(count, 8 << 20)))
        guard reserve(min(wanted, most)), let memory else { return nil }
        return UnsafeMutableRawBufferPointer(start: memory + count, count: min(most, capacity - count))
    }

    mutating func filled(_ bytes: Int) { count += bytes }

    private mutating func reserve(_ more: Int) -> Bool {
        let (needed, overflow) = count.addingReportingOverflow(more)
        guard !overflow else { return false }
        if needed <= capacity { return true }
        var new = max(needed, capacity &* 2, memory == nil ? min(expected ?? Self.firstCapacity, Self.believed) : 0)
        if let expected, new > expected, needed <= expected { new = expected }
        guard let moved = realloc(memory, max(new, 1)) else { return false }
        memory = moved
        capacity = new
        return true
    }

    /// The body; the collector is empty afterwards.
    mutating func take() -> Data {
        guard let memory, count > 0 else { return Data() }
        defer {
            self.memory = nil
            capacity = 0
            count = 0
        }
        if count <= 256 {
            defer { free(memory) }
            return Data(bytes: memory, count: count)
        }
        let exact = capacity - count > 4096 ? realloc(memory, count) ?? memory : memory
        return Data(bytesNoCopy: exact, count: count, deallocator: .free)
    }
}
