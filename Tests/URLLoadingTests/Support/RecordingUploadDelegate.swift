import Foundation
import TestSupport
import URLLoading

/// Records the progress of uploads, and provides body streams.
final class RecordingUploadDelegate: RecordingDelegate, @unchecked Sendable {
    // Sendable as the class it comes from.

    /// Bytes, total and expected of each call of `didSendBodyData`.
    let sent = EventRecorder<[Int64]>()

    /// New streams of these bytes.
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

/// A task delegate that implements only the completion callback.
final class EndDelegate: NSObject, URLSessionTaskDelegate {
    let calls = EventRecorder<Call>()

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        calls.record(.completed(task.taskIdentifier, error?.urlErrorCode))
    }
}

/// A task delegate that provides streams with the `async` variant.
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
