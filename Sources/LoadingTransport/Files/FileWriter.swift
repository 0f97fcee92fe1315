package import FoundationEssentials
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics

/// Writes a body to a file while it arrives.
///
/// Opening, writing and closing may wait for the disk, so they run between two turns while the loop is lent, like a
/// callback. A fast disk needs no thread switch, and a slow one does not block sockets. Operations run in order, and
/// results are reported on the loop.
///
/// **Back-pressure.** `write` returns false when enough bytes wait for the disk; `fileWriterWrote` reports when there
/// is room again.
///
/// **No free descriptor.** The operations wait until a descriptor becomes free, or until `giveUp` is called.
package final class FileWriter: Callout, LoopTimerTarget, @unchecked Sendable {
    // Sendable because `operations`, `isRunning`, `mayWait` and `outcome` are guarded by `lock`, `file`, `failure` and
    // `isClosed` belong to the one thread that runs the operations, and the rest to the loop.

    /// The destination of the body.
    package enum Destination: Sendable {
        /// A new file in the folder, with mode 0600.
        case newFile(inFolder: String)
        /// A new file that replaces a file of the same folder, which is deleted. The name differs, so the old name
        /// never refers to the new contents.
        case replacement(inFolder: String, of: String)
        /// An existing file, truncated to `offset` bytes. The body follows them.
        case existing(path: String, offset: Int64)
    }

    /// The failed operation, with the errno.
    package enum Failure: Error, Equatable, Sendable {
        case creating(POSIXFailure)
        case opening(POSIXFailure)
        case writing(POSIXFailure)
        case closing(POSIXFailure)

        /// Whether the process or the system has no free descriptor.
        fileprivate var isOfDescriptors: Bool {
            switch self {
            case .creating(let failure), .opening(let failure): [EMFILE, ENFILE].contains(failure.code)
            case .writing, .closing: false
            }
        }
    }

    private enum Operation {
        case write(Data)
        /// Bytes in the pipe.
        case drain(SplicePipe, Int)
        case close
        case discard
        /// What is there stays.
        case abandon

        var isStop: Bool {
            switch self {
            case .discard, .abandon: true
            case .write, .drain, .close: false
            }
        }
    }

    private struct Outcome {
        var written: Int64 = 0
        /// The part of `written` that came from the pipe.
        var drained: Int64 = 0
        /// The path of the file, once it is open.
        var path: String?
        var closed: Result<String, Failure>?
    }

    private let loop: EventLoop
    private let destination: Destination

    // MARK: Guarded by `lock`

    private let lock = Lock()
    private var operations: [Operation] = []
    /// Also true while the operations wait for a descriptor.
    private var isRunning = false
    private var mayWait = true
    private var outcome = Outcome()

    // MARK: Confined to the thread that runs the operations

    private var file: OpenFile?
    private var failure: Failure?
    private var isClosed = false

    // MARK: Confined to the loop

    package weak var observer: (any FileWriterObserver)?
    /// The path of the file, after the first write.
    package private(set) var path: String?
    private var waitingBytes = 0
    private var pipe: SplicePipe?
    /// The number of bytes in the pipe.
    private var pipedBytes: Int64 = 0
    private var hasNoPipe = false
    private let retryTimer = LoopTimer()
    private var isWaitingForDescriptor = false

    /// The number of bytes that may wait for the disk.
    private static let highWater = 256 * 1024

    /// The last component of a path.
    package static func name(of path: String) -> String {
        String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
    }

    /// A name of a download's file that no other file has.
    package static func newName() -> String {
        OpenFile.prefix + String(UInt64.random(in: 0...UInt64.max), radix: 36) + OpenFile.suffix
    }

    package init(_ destination: Destination, on loop: EventLoop) {
        self.destination = destination
        self.loop = loop
    }

    // MARK: On the loop

    /// Returns false if enough bytes wait for the disk.
    package func write(_ data: Data) -> Bool {
        waitingBytes += data.count
        enqueue(.write(data))
        return waitingBytes < Self.highWater
    }

    /// The write end of an empty pipe to the file, for splicing. Nil while the pipe contains data, because the kernel's
    /// EAGAIN would not distinguish a full pipe from an empty socket; nil also if no pipe can be created.
    package var spliceEnd: Int32? {
        guard pipedBytes == 0 else { return nil }
        if pipe == nil, !hasNoPipe {
            pipe = SplicePipe()
            hasNoPipe = pipe == nil
        }
        return pipe?.writeEnd
    }

    /// Bytes were spliced into the pipe.
    package func didSplice(_ count: Int) {
        guard let pipe else { return }
        waitingBytes += count
        pipedBytes += Int64(count)
        enqueue(.drain(pipe, count))
    }

    /// Ends the file. `fileWriterClosed` then reports its path, or the failure.
    package func close() {
        pipe = nil
        enqueue(.close)
    }

    /// Deletes the file and drops pending data. Nothing more is reported.
    package func discard() { stop(.discard) }

    /// Drops pending data, and deletes the file unless it existed before. Nothing more is reported.
    package func abandon() {
        if case .existing = destination { stop(.abandon) } else { stop(.discard) }
    }

    private func stop(_ operation: Operation) {
        observer = nil
        pipe = nil
        loop.disarm(retryTimer)
        lock.lock()
        operations = [operation]
        let mustStart = !isRunning || isWaitingForDescriptor
        isRunning = true
        lock.unlock()
        isWaitingForDescriptor = false
        if mustStart { loop.callOut(self) }
    }

    /// Stops waiting for a descriptor: without one, the file fails.
    package func giveUp() {
        loop.checkConfinement(of: "A file writer")
        lock.withLock { mayWait = false }
        tryAgain()
    }

    package func timerFired(_ timer: LoopTimer) { tryAgain() }

    private func tryAgain() {
        guard isWaitingForDescriptor else { return }
        isWaitingForDescriptor = false
        loop.disarm(retryTimer)
        loop.callOut(self)
    }

    private func waitForDescriptor() {
        isWaitingForDescriptor = true
        loop.arm(retryTimer, at: loop.now + loop.limits.descriptorRetry, for: self)
        if !lock.withLock({ mayWait }) { tryAgain() }
    }

    private func enqueue(_ operation: Operation) {
        loop.checkConfinement(of: "A file writer")
        lock.lock()
        operations.append(operation)
        let mustStart = !isRunning
        isRunning = true
        lock.unlock()
        if mustStart { loop.callOut(self) }
    }

    private func report() {
        lock.lock()
        let changes = outcome
        outcome = Outcome()
        lock.unlock()
        waitingBytes -= Int(changes.written)
        pipedBytes -= changes.drained
        path = changes.path ?? path
        if changes.written > 0 { observer?.fileWriterWrote(changes.written, hasRoom: waitingBytes < Self.highWater) }
        if let closed = changes.closed { observer?.fileWriterClosed(closed) }
    }

    // MARK: With the loop lent

    package func callOut() {
        while let batch = takeOperations() {
            if let last = batch.last, last.isStop {
                if case .discard = last { file?.remove() }
                file = nil
                isClosed = true
                continue
            }
            if lacksDescriptor() {
                let isDiscarded = lock.withLock {
                    if operations.last?.isStop == true { return true }
                    operations.insert(contentsOf: batch, at: 0)
                    return false
                }
                if isDiscarded { continue }
                return loop.post { self.waitForDescriptor() }
            }
            var changes = Outcome()
            for operation in batch { run(operation, &changes) }
            lock.lock()
            // What was reported has been removed from `outcome`.
            let isFirst = outcome.written == 0 && outcome.closed == nil
            outcome.written += changes.written
            outcome.drained += changes.drained
            outcome.path = file?.path
            outcome.closed = outcome.closed ?? changes.closed
            lock.unlock()
            if isFirst { loop.post { self.report() } }
        }
    }

    private func takeOperations() -> [Operation]? {
        lock.lock()
        defer { lock.unlock() }
        guard !operations.isEmpty else {
            isRunning = false
            return nil
        }
        defer { operations = [] }
        return operations
    }

    private func run(_ operation: Operation, _ changes: inout Outcome) {
        // After a failure, the remaining data are dropped until the loop has processed it.
        let isDone = failure != nil || isClosed
        do throws(Failure) {
            switch operation {
            case .write(let data):
                changes.written += Int64(data.count)
                if !isDone { try open().write(data) }
            case .drain(let pipe, let count):
                changes.written += Int64(count)
                changes.drained += Int64(count)
                if !isDone { try open().drain(pipe, count) }
            case .close:
                guard !isDone else { return }
                let file = try open()
                try file.close()
                isClosed = true
                changes.closed = .success(file.path)
            case .discard, .abandon: break
            }
        } catch {
            failure = error
            dropFile()
            changes.closed = .failure(error)
        }
    }

    /// Removes the file. If it existed before, only what was added: the program's resume data is still valid.
    private func dropFile() {
        guard let file else { return }
        self.file = nil
        guard case .existing(_, let offset) = destination else { return file.remove() }
        file.truncate(to: offset)
        UnfinishedFiles.shared.keep(file.path)
    }

    /// Opens the file if necessary. Returns true if that failed for lack of a descriptor.
    private func lacksDescriptor() -> Bool {
        guard file == nil, failure == nil, lock.withLock({ mayWait }) else { return false }
        do { file = try OpenFile(destination) } catch { return error.isOfDescriptors }
        return false
    }

    private func open() throws(Failure) -> OpenFile {
        if let file { return file }
        let new = try OpenFile(destination)
        file = new
        return new
    }
}

/// Receives notifications of a `FileWriter`, on its loop.
package protocol FileWriterObserver: AnyObject {
    /// More bytes were written. If `hasRoom` is false, this is called again later.
    func fileWriterWrote(_ count: Int64, hasRoom: Bool)
    /// The last notification: the file is closed and complete, with its path; or it could not be written and was
    /// deleted, unless it existed before.
    func fileWriterClosed(_ outcome: Result<String, FileWriter.Failure>)
}
