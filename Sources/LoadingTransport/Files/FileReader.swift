package import FoundationEssentials
internal import Glibc
internal import LoadingEvents

/// A file that is read as its bytes are wanted, such as the body of an upload.
///
/// Opening and reading may wait for a disk, so they are done between two turns with the loop lent, as `FileWriter`
/// does. What the loop asks for is done in the order of asking, and answered on the loop.
package final class FileReader: Callout, @unchecked Sendable {
    // Sendable because `orders` and `isAtWork` are guarded by `lock`, `file` belongs to the one thread at a time that
    // carries out the orders, and the rest is constant.

    private enum Order {
        case look(LoopBox<(Result<FileFacts, POSIXFailure>) -> Void>)
        case read(at: Int64, most: Int, LoopBox<(Result<Data, POSIXFailure>) -> Void>)
        case fill(SplicePipe, at: Int64, most: Int, LoopBox<(Result<Int, POSIXFailure>) -> Void>)
    }

    package let path: String
    private let loop: EventLoop

    private let lock = Lock()
    private var orders: [Order] = []
    private var isAtWork = false

    private var file: ReadableFile?

    package init(path: String, on loop: EventLoop) {
        self.path = path
        self.loop = loop
    }

    // MARK: On the loop

    /// What the file is like now; opens it if need be.
    package func look(_ told: @escaping (Result<FileFacts, POSIXFailure>) -> Void) { order(.look(LoopBox(told))) }

    /// Bytes from that place on, at most `ReadBuffers.size` and at least one unless the file ends there.
    package func read(at offset: Int64, most: Int, _ told: @escaping (Result<Data, POSIXFailure>) -> Void) {
        order(.read(at: offset, most: most, LoopBox(told)))
    }

    /// Moves bytes from that place on into an empty pipe, without a copy; 0 when the file ends there.
    package func fill(
        _ pipe: SplicePipe, at offset: Int64, most: Int, _ told: @escaping (Result<Int, POSIXFailure>) -> Void
    ) {
        order(.fill(pipe, at: offset, most: most, LoopBox(told)))
    }

    private func order(_ order: Order) {
        loop.checkConfinement(of: "A file reader")
        lock.lock()
        orders.append(order)
        let mustStart = !isAtWork
        isAtWork = true
        lock.unlock()
        if mustStart { loop.callOut(self) }
    }

    // MARK: With the loop lent

    package func callOut() {
        while let order = takeOrder() { carryOut(order) }
    }

    private func takeOrder() -> Order? {
        lock.lock()
        defer { lock.unlock() }
        guard !orders.isEmpty else {
            isAtWork = false
            return nil
        }
        return orders.removeFirst()
    }

    private func carryOut(_ order: Order) {
        switch order {
        case .look(let told): answer(told) { file throws(POSIXFailure) in try file.facts() }
        case .read(let offset, let most, let told):
            answer(told) { file throws(POSIXFailure) in try file.read(at: offset, most: most) }
        case .fill(let pipe, let offset, let most, let told):
            answer(told) { file throws(POSIXFailure) in try file.fill(pipe, at: offset, most: most) }
        }
    }

    private func answer<Value: Sendable>(
        _ told: LoopBox<(Result<Value, POSIXFailure>) -> Void>, _ work: (ReadableFile) throws(POSIXFailure) -> Value
    ) {
        let result: Result<Value, POSIXFailure>
        do throws(POSIXFailure) { result = .success(try work(open())) } catch { result = .failure(error) }
        loop.post { told.value(result) }
    }

    private func open() throws(POSIXFailure) -> ReadableFile {
        if let file { return file }
        let new = try ReadableFile(path)
        file = new
        return new
    }
}
