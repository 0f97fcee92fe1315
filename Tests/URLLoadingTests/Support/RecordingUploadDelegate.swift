import Foundation
import TestSupport
import URLLoading

/// Writes down each piece that an upload tells of, and hands out its streams.
final class RecordingUploadDelegate: RecordingDelegate, @unchecked Sendable {
    // Sendable as the class it comes from.

    /// Bytes, total and expected of each call of `didSendBodyData`.
    let sent = EventRecorder<[Int64]>()

    /// Streams of these bytes, as often as one is wanted.
    convenience init(_ bytes: [UInt8]) {
        self.init()
        stream = { $1(InputStream(data: Data(bytes))) }
        streamFrom = { $1(InputStream(data: Data(bytes.dropFirst(Int($0))))) }
    }

    override func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        sent.record([bytesSent, totalBytesSent, totalBytesExpectedToSend])
        super.urlSession(
            session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
            totalBytesExpectedToSend: totalBytesExpectedToSend)
    }
}

/// A task's own delegate that hears of nothing but its end.
final class EndDelegate: NSObject, URLSessionTaskDelegate {
    let calls = EventRecorder<Call>()

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        calls.record(.completed(task.taskIdentifier, error?.urlErrorCode))
    }
}

/// A task's own delegate that hands out streams in the `async` spelling.
final class AsyncStreamDelegate: NSObject, URLSessionTaskDelegate {
    let calls = EventRecorder<Call>()
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
        calls.record(.needsStream(task.taskIdentifier, 0))
        await Task.yield()
        return InputStream(data: Data(bytes))
    }

    func urlSession(
        _ session: URLSession, needNewBodyStreamForTask task: URLSessionTask, from offset: Int64
    ) async -> InputStream? {
        calls.record(.needsStream(task.taskIdentifier, offset))
        await Task.yield()
        return InputStream(data: Data(bytes.dropFirst(Int(offset))))
    }
}
