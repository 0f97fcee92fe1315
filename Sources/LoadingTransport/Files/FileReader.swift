package import FoundationEssentials
internal import Glibc
internal import LoadingEvents

/// Reads a file on demand, such as the body of an upload.
///
/// Opening and reading may wait for the disk, so they run between two turns while the loop is lent, as in `FileWriter`.
/// Operations run in order. Results are passed to the completion on the loop.
package final class FileReader: Callout, @unchecked Sendable {
    // Sendable because `operations` and `isRunning` are guarded by `lock`, `file` belongs to the one thread that runs
    // the operations, and the rest is constant.

    private enum Operation {
        case facts(LoopBox<(Result<FileFacts, POSIXFailure>) -> Void>)
        case read(at: Int64, most: Int, LoopBox<(Result<Data, POSIXFailure>) -> Void>)
        case fill(SplicePipe, at: Int64, most: Int, LoopBox<(Result<Int, POSIXFailure>) -> Void>)
    }

    package let path: String
    private let loop: EventLoop

    private let lock = Lock()
    private var operations: [Operation] = []
    private var isRunning = false

    private var file: ReadableFile?

    package init(path: String, on loop: EventLoop) {
        self.path = path
        self.loop = loop
    }

    // MARK: On the loop

    /// The present length and modification time. Opens the file if necessary.
    package func readFacts(_ completion: @escaping (Result<FileFacts, POSIXFailure>) -> Void) {
        enqueue(.facts(LoopBox(completion)))
    }

    /// Reads from the offset: at least one byte unless the file ends there, at most `ReadBuffers.size`.
    package func read(at offset: Int64, most: Int, _ completion: @escaping (Result<Data, POSIXFailure>) -> Void) {
        enqueue(.read(at: offset, most: most, LoopBox(completion)))
    }

    /// Moves bytes from the offset into an empty pipe, without a copy. 0 at the end of the file.
    package func fill(
        _ pipe: SplicePipe, at offset: Int64, most: Int, _ completion: @escaping (Result<Int, POSIXFailure>) -> Void
    ) {
        enqueue(.fill(pipe, at: offset, most: most, LoopBox(completion)))
    }

    private func enqueue(_ operation: Operation) {
        loop.checkConfinement(of: "A file reader")
        lock.lock()
        operations.append(operation)
        let mustStart = !isRunning
        isRunning = true
        lock.unlock()
        if mustStart { loop.callOut(self) }
    }

    // MARK: With the loop lent

    package func callOut() {
        while let operation = nextOperation() { run(operation) }
    }

    private func nextOperation() -> Operation? {
        lock.lock()
        defer { lock.unlock() }
        guard !operations.isEmpty else {
            isRunning = false
            return nil
        }
        return operations.removeFirst()
    }

    private func run(_ operation: Operation) {
        switch operation {
        case .facts(let completion): complete(completion) { file throws(POSIXFailure) in try file.facts() }
        case .read(let offset, let most, let completion):
            complete(completion) { file throws(POSIXFailure) in try file.read(at: offset, most: most) }
        case .fill(let pipe, let offset, let most, let completion):
            complete(completion) { file throws(POSIXFailure) in try file.fill(pipe, at: offset, most: most) }
        }
    }

    private func complete<Value: Sendable>(
        _ completion: LoopBox<(Result<Value, POSIXFailure>) -> Void>,
        _ work: (ReadableFile) throws(POSIXFailure) -> Value
    ) {
        let result: Result<Value, POSIXFailure>
        do throws(POSIXFailure) { result = .success(try work(open())) } catch { result = .failure(error) }
        loop.post { completion.value(result) }
    }

    private func open() throws(POSIXFailure) -> ReadableFile {
        if let file { return file }
        let new = try ReadableFile(path)
        file = new
        return new
    }
}
