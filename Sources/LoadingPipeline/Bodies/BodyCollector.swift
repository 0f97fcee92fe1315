internal import FoundationEssentials
internal import Glibc
internal import LoadingEvents

/// Collects a body in one piece of memory that becomes the caller's `Data` without a copy.
///
/// If the announced length is small, the memory has that size at once. A larger announcement is trusted only as far as
/// bytes arrive, so that a server cannot cause the allocation of memory for bytes that it never sends.
struct BodyCollector: ~Copyable {
    private var memory = GrowableBuffer()
    private(set) var count = 0
    private var expected: Int?

    /// Announcements up to this many bytes are trusted.
    private static let trusted = 1 << 20
    /// For a body without an announcement. malloc hands out larger pieces more slowly, and most such bodies are small.
    private static let firstCapacity = 1000

    init() {}

    mutating func expect(_ length: Int64) {
        expected = length >= 0 && length < Int64(Int.max / 4) ? Int(length) : nil
    }

    /// False if memory is exhausted.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return true }
        guard reserve(bytes.count), let start = memory.address else { return false }
        memcpy(start + count, source, bytes.count)
        count += bytes.count
        return true
    }

    /// Free room for at least one byte and at most `most` bytes. Bytes written there are reported with `filled`.
    mutating func room(_ most: Int) -> UnsafeMutableRawBufferPointer? {
        let wanted = min(most, max(256 * 1024, min(count, 8 << 20)))
        guard reserve(min(wanted, most)), let start = memory.address else { return nil }
        return UnsafeMutableRawBufferPointer(start: start + count, count: min(most, memory.capacity - count))
    }

    mutating func filled(_ bytes: Int) { count += bytes }

    private mutating func reserve(_ more: Int) -> Bool {
        let (needed, overflow) = count.addingReportingOverflow(more)
        guard !overflow else { return false }
        let capacity = memory.capacity
        if needed <= capacity { return true }
        var new = max(needed, capacity &* 2, capacity == 0 ? min(expected ?? Self.firstCapacity, Self.trusted) : 0)
        if let expected, new > expected, needed <= expected { new = expected }
        return memory.grow(to: max(new, 1))
    }

    /// The first collected bytes, which remain in the collector.
    func start(most: Int) -> [UInt8] {
        guard let start = memory.address else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: min(most, count)))
    }

    /// The body; the collector is empty afterwards.
    mutating func take() -> Data {
        defer { count = 0 }
        return memory.take(count)
    }
}
