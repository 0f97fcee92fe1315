internal import Glibc

/// Which users of the system a process can notify apart (user_namespaces(7)).
struct UserNamespace {
    /// The numbers that have a user.
    private var known: [ClosedRange<UInt32>] = []
    /// What all others are shown as.
    private var stranger: UInt32?

    static let current = UserNamespace(
        map: text(of: "/proc/self/uid_map"), overflow: text(of: "/proc/sys/kernel/overflowuid"))

    /// - Parameters:
    ///   - map: Of each line, the first number within the namespace, the one outside, and how many follow.
    ///   - overflow: The number of users without one.
    init(map: String, overflow: String) {
        for line in map.split(separator: "\n") {
            let numbers = line.split(separator: " ").compactMap { UInt32($0) }
            guard numbers.count == 3, numbers[2] > 0 else { continue }
            let (last, isTooMuch) = numbers[0].addingReportingOverflow(numbers[2] - 1)
            known.append(numbers[0]...(isTooMuch ? .max : last))
        }
        if !known.isEmpty { stranger = overflow.split(separator: "\n").first.flatMap { UInt32($0) } }
    }

    /// Whether a file of that owner may be any user's outside of the namespace. So it is with the system's own folders in
    /// a namespace that has no root but the user's own.
    func hides(_ owner: UInt32) -> Bool { owner == stranger && !known.contains { $0.contains(owner) } }

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
