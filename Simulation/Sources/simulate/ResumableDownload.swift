import Foundation
import URLLoading

/// A download that the program pauses, or that fails, and that goes on with what there is of it.
final class ResumableDownload: @unchecked Sendable {
    // Sendable because everything mutable is guarded by `lock`.
    private let lock = NSLock()
    private var task: URLSessionDownloadTask
    private var resumesLeft: Int
    /// Between the call that pauses it and the answer.
    private var isPausing = false
    private var hasEndedWhilePausing = false
    private var isOver = false
    /// Nil if the session takes no more tasks.
    private let makeTask: (Data) -> URLSessionDownloadTask?
    /// Before the end of a download that cannot go on.
    private let willGiveUp: () -> Void
    private let giveUp: () -> Void

    init(
        _ task: URLSessionDownloadTask, resumes: Int, makeTask: @escaping (Data) -> URLSessionDownloadTask?,
        willGiveUp: @escaping () -> Void, giveUp: @escaping () -> Void
    ) {
        (self.task, resumesLeft, self.makeTask) = (task, resumes, makeTask)
        (self.willGiveUp, self.giveUp) = (willGiveUp, giveUp)
    }

    func pause() {
        let paused = lock.withLock { () -> URLSessionDownloadTask? in
            guard !isPausing, !isOver else { return nil }
            isPausing = true
            return task
        }
        paused?.cancel { [self] data in hasPaused(data) }
    }

    private func hasPaused(_ data: Data?) {
        let next = data.flatMap(makeTask)
        if next == nil { willGiveUp() }
        let endsNow = lock.withLock { () -> Bool in
            defer { (isPausing, hasEndedWhilePausing) = (false, false) }
            if let next { task = next }
            return next == nil && hasEndedWhilePausing
        }
        next?.resume()
        if endsNow { giveUp() }
    }

    /// Whether the end of a task is not that of the download.
    func goesOn(after ended: URLSessionTask, _ error: (any Error)?) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        let code = (error as? URLError)?.code
        guard ended === task else {
            Law.require(code == .cancelled, "a task that was paused ends as cancelled: \(code?.rawValue ?? 0)")
            return true
        }
        if isPausing, code == .cancelled {
            hasEndedWhilePausing = true
            return true
        }
        let part = (error as? URLError)?.userInfo[NSURLSessionDownloadTaskResumeData] as? Data
        if let part, resumesLeft > 0, let next = makeTask(part) {
            resumesLeft -= 1
            task = next
            next.resume()
            return true
        }
        isOver = true
        return false
    }
}
