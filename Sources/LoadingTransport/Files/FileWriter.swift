package import FoundationEssentials
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics

/// A file that a body is written to as it comes.
///
/// Opening, writing and closing may wait for a disk, so they are done between two turns with the loop lent, like a
/// callback: a disk that keeps up costs no hop to another thread, and one that does not never holds up a socket. What
/// the loop asks for is done in the order of asking; what came of it is told on the loop.
///
/// **Back-pressure.** `write` says when enough waits for the disk; `fileWriterWrote` when there is room again.
///
/// **No descriptor left.** Somebody's will be free again, so the orders wait, until the writer is told to give up.
package final class FileWriter: Callout, LoopTimerTarget, @unchecked Sendable {
    // Sendable because `orders`, `isAtWork`, `mayWait` and `outcome` are guarded by `lock`, `file`, `failure` and `isClosed` belong to
    // the one thread at a time that carries out the orders, and the rest to the loop.

    /// Where the body goes.
    package enum Place: Sendable {
        /// A file that is made in this folder, for this user's eyes only.
        case newFile(inFolder: String)
        /// The same, and this file of the same folder is removed before. The name is another one, so who knows the old
        /// name never takes the new contents for the old.
        case replacement(inFolder: String, of: String)
        /// A file of which the first so many bytes are kept; the body is what follows them.
        case existing(path: String, offset: Int64)
    }

    /// What could not be done, with the errno.
    package enum Failure: Error, Equatable, Sendable {
        case creating(POSIXFailure)
        case opening(POSIXFailure)
        case writing(POSIXFailure)
        case closing(POSIXFailure)

        /// Whether the process, or the system, has no descriptor left.
        fileprivate var isOfDescriptors: Bool {
            switch self {
            case .creating(let failure), .opening(let failure): [EMFILE, ENFILE].contains(failure.code)
            case .writing, .closing: false
            }
        }
    }

    private enum Order {
        case write(Data)
        /// Bytes that lie in the pipe.
        case drain(SplicePipe, Int)
        case close
        case discard
    }

    private struct Outcome {
        var written: Int64 = 0
        /// Of these, what came out of the pipe.
        var drained: Int64 = 0
        /// Of the file, once it is open.
        var path: String?
        var closed: Result<String, Failure>?
    }

    private let loop: EventLoop
    private let place: Place

    // MARK: Guarded by `lock`

    private let lock = Lock()
    private var orders: [Order] = []
    /// Also while the orders wait for a descriptor.
    private var isAtWork = false
    private var mayWait = true
    private var outcome = Outcome()

    // MARK: Of who carries out the orders

    private var file: OpenFile?
    private var failure: Failure?
    private var isClosed = false

    // MARK: Confined to the loop

    package weak var observer: (any FileWriterObserver)?
    /// Of the file, once something was written to it.
    package private(set) var path: String?
    private var waitingBytes = 0
    private var pipe: SplicePipe?
    /// What was put into the pipe and has not come out.
    private var pipedBytes: Int64 = 0
    private var hasNoPipe = false
    private let retryTimer = LoopTimer()
    private var isWaitingForDescriptor = false

    /// Bytes that may wait for the disk.
    private static let highWater = 256 * 1024

    /// The last part of a path.
    package static func name(of path: String) -> String {
        String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
    }

    package init(_ place: Place, on loop: EventLoop) {
        self.place = place
        self.loop = loop
    }

    // MARK: On the loop

    /// False when the disk has enough to do for now.
    package func write(_ data: Data) -> Bool {
        waitingBytes += data.count
        order(.write(data))
        return waitingBytes < Self.highWater
    }

    /// An empty pipe that leads to the file, for what need not pass through the memory of the process; nil while there is
    /// something in it, and when there is none to be had. Nobody could tell a full pipe from a socket without bytes: the
    /// kernel says of either that it would block.
    package var entrance: Int32? {
        guard pipedBytes == 0 else { return nil }
        if pipe == nil, !hasNoPipe {
            pipe = SplicePipe()
            hasNoPipe = pipe == nil
        }
        return pipe?.entrance
    }

    /// So many bytes were put into the entrance.
    package func filledEntrance(_ count: Int) {
        guard let pipe else { return }
        waitingBytes += count
        pipedBytes += Int64(count)
        order(.drain(pipe, count))
    }

    /// Nothing follows. Told by `fileWriterClosed` with the file's path, also when writing failed.
    package func close() {
        pipe = nil
        order(.close)
    }

    /// The file is of no use. It goes with all that waits, which is not told.
    package func discard() {
        observer = nil
        pipe = nil
        loop.disarm(retryTimer)
        lock.lock()
        orders = [.discard]
        let mustStart = !isAtWork || isWaitingForDescriptor
        isAtWork = true
        lock.unlock()
        isWaitingForDescriptor = false
        if mustStart { loop.callOut(self) }
    }

    /// Nobody waits for the file any more: if there is no descriptor for it now, it fails.
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

    private func order(_ order: Order) {
        loop.checkConfinement(of: "A file writer")
        lock.lock()
        orders.append(order)
        let mustStart = !isAtWork
        isAtWork = true
        lock.unlock()
        if mustStart { loop.callOut(self) }
    }

    private func report() {
        lock.lock()
        let news = outcome
        outcome = Outcome()
        lock.unlock()
        waitingBytes -= Int(news.written)
        pipedBytes -= news.drained
        path = news.path ?? path
        if news.written > 0 { observer?.fileWriterWrote(news.written, hasRoom: waitingBytes < Self.highWater) }
        if let closed = news.closed { observer?.fileWriterClosed(closed) }
    }

    // MARK: With the loop lent

    package func callOut() {
        while let batch = takeOrders() {
            if case .discard? = batch.last {
                file?.remove()
                file = nil
                isClosed = true
                continue
            }
            if lacksDescriptor() {
                let isDiscarded = lock.withLock {
                    if case .discard? = orders.last { return true }
                    orders.insert(contentsOf: batch, at: 0)
                    return false
                }
                if isDiscarded { continue }
                return loop.post { self.waitForDescriptor() }
            }
            var news = Outcome()
            for order in batch { carryOut(order, &news) }
            lock.lock()
            // What was reported already is gone from `outcome`.
            let isFirst = outcome.written == 0 && outcome.closed == nil
            outcome.written += news.written
            outcome.drained += news.drained
            outcome.path = file?.path
            outcome.closed = outcome.closed ?? news.closed
            lock.unlock()
            if isFirst { loop.post { self.report() } }
        }
    }

    private func takeOrders() -> [Order]? {
        lock.lock()
        defer { lock.unlock() }
        guard !orders.isEmpty else {
            isAtWork = false
            return nil
        }
        defer { orders = [] }
        return orders
    }

    private func carryOut(_ order: Order, _ news: inout Outcome) {
        // Once something has failed the rest is taken and dropped, until the loop has heard of it.
        let isDone = failure != nil || isClosed
        do throws(Failure) {
            switch order {
            case .write(let data):
                news.written += Int64(data.count)
                if !isDone { try open().write(data) }
            case .drain(let pipe, let count):
                news.written += Int64(count)
                news.drained += Int64(count)
                if !isDone { try open().drain(pipe, count) }
            case .close:
                guard !isDone else { return }
                let file = try open()
                try file.close()
                isClosed = true
                news.closed = .success(file.path)
            case .discard: break
            }
        } catch {
            failure = error
            file?.remove()
            news.closed = .failure(error)
        }
    }

    /// Opens the file, if it is not open yet, and says whether only a descriptor lacks for that.
    private func lacksDescriptor() -> Bool {
        guard file == nil, failure == nil, lock.withLock({ mayWait }) else { return false }
        do { file = try OpenFile(place) } catch { return error.isOfDescriptors }
        return false
    }

    private func open() throws(Failure) -> OpenFile {
        if let file { return file }
        let new = try OpenFile(place)
        file = new
        return new
    }
}
