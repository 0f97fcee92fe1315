internal import Glibc

/// The mapping of user ids in a user namespace (user_namespaces(7)).
struct UserNamespace {
    /// The mapped ids.
    private var known: [ClosedRange<UInt32>] = []
    /// The id that represents all unmapped ones.
    private var overflowID: UInt32?

    static let current = UserNamespace(
        map: text(of: "/proc/self/uid_map"), overflow: text(of: "/proc/sys/kernel/overflowuid"))

    /// - Parameters:
    ///   - map: `/proc/self/uid_map`: in each line the first id inside, the first id outside, and the length of the
    ///     range.
    ///   - overflow: `/proc/sys/kernel/overflowuid`.
    init(map: String, overflow: String) {
        for line in map.split(separator: "\n") {
            let numbers = line.split(separator: " ").compactMap { UInt32($0) }
            guard numbers.count == 3, numbers[2] > 0 else { continue }
            let (last, isTooMuch) = numbers[0].addingReportingOverflow(numbers[2] - 1)
            known.append(numbers[0]...(isTooMuch ? .max : last))
        }
        if !known.isEmpty { overflowID = overflow.split(separator: "\n").first.flatMap { UInt32($0) } }
    }

    /// Whether the owner may be any user outside of the namespace. System folders appear so in a namespace that maps
    /// only the user's own id.
    func isUnmapped(_ owner: UInt32) -> Bool { owner == overflowID && !known.contains { $0.contains(owner) } }

    private static func text(of path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
