internal import Glibc

/// Samples the allocated memory of this process every millisecond on its own thread. Includes servers in this process.
package final class MemoryWatch {
    private let before: Int
    private let most: Watched<(allocated: Int, isOver: Bool)>
    private let looker: JoinableThread
    private var isJoined = false

    package init() throws {
        before = Memory.allocated
        let most = Watched((allocated: before, isOver: false))
        self.most = most
        looker = try JoinableThread(name: "test-memory") {
            while !Self.look(most) { usleep(1000) }
        }
    }

    deinit { end() }

    @discardableResult
    private static func look(_ most: Watched<(allocated: Int, isOver: Bool)>) -> Bool {
        let now = Memory.allocated
        return most.withValue {
            $0.allocated = max($0.allocated, now)
            return $0.isOver
        }
    }

    private func end() {
        if isJoined { return }
        isJoined = true
        most.withValue { $0.isOver = true }
        looker.join()
    }

    /// The maximum growth in bytes. Ends the sampling.
    package func growth() -> Int {
        end()
        return most.current.allocated - before
    }
}
