internal import LoadingEvents

/// A connection to a message bus while it is opened, on a thread of its own.
///
/// If the bus hangs, the thread waits for as long as that lasts. An abandoned opening is continued by the next `begin`
/// with the same address: otherwise each attempt would leave a thread.
final class BusOpening: @unchecked Sendable {
    // Sendable because the completion is guarded by `lock`.

    typealias Completion = @Sendable (OpenedBus) -> Void

    private let address: String
    /// Nil if the opening is abandoned or over.
    private var completion: Completion?

    private static let lock = Lock()
    /// The abandoned openings, by the addresses of their buses.
    nonisolated(unsafe) private static var abandoned: [String: [BusOpening]] = [:]

    private init(_ address: String, _ completion: @escaping Completion) {
        self.address = address
        self.completion = completion
    }

    /// Nil if the system cannot start a thread now.
    ///
    /// - Parameter completion: Called once, on another thread, unless `abandon` is called before.
    static func begin(_ address: String, completion: @escaping Completion) -> BusOpening? {
        let adopted = lock.withLock { () -> BusOpening? in
            guard let opening = abandoned[address]?.popLast() else { return nil }
            opening.completion = completion
            return opening
        }
        if let adopted { return adopted }
        let new = BusOpening(address, completion)
        return DetachedThread.startIfPossible(named: "url-bus", { new.run() }) ? new : nil
    }

    /// The connection is not wanted any more. The completion may be running.
    func abandon() {
        // Released outside the lock.
        _ = Self.lock.withLock { () -> Completion? in
            guard let completion else { return nil }
            self.completion = nil
            Self.abandoned[address, default: []].append(self)
            return completion
        }
    }

    private func run() {
        let opened = OpenedBus(address: address)
        let completion = Self.lock.withLock { () -> Completion? in
            let others = Self.abandoned[address]?.filter { $0 !== self } ?? []
            Self.abandoned[address] = others.isEmpty ? nil : others
            defer { self.completion = nil }
            return self.completion
        }
        if let completion { completion(opened) } else { opened.close() }
    }
}
