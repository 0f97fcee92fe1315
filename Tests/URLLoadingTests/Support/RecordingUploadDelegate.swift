import Foundation
import TestSupport
import URLLoading

/// Writes down what an upload tells, and hands out its streams.
final class RecordingUploadDelegate: RecordingDelegate, @unchecked Sendable {
    // Sendable as the class it comes from.

    /// Bytes, total and expected of each call of `didSendBodyData`.
    let sent = EventRecorder<[Int64]>()
    /// What is said to a question for a stream; the number counts the questions from 0.
    var stream: @Sendable (Int, @escaping @Sendable (InputStream?) -> Void) -> Void = { $1(nil) }
    /// The same for what follows an offset.
    var streamFrom: @Sendable (Int64, @escaping @Sendable (InputStream?) -> Void) -> Void = { $1(nil) }
    private let questions = Watched(0)

    /// Streams of these bytes, as often as one is wanted.
    convenience init(_ bytes: [UInt8]) {
        self.init()
        stream = { $1(InputStream(data: Data(bytes))) }
        streamFrom = { $1(InputStream(data: Data(bytes.dropFirst(Int($0))))) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        note(.needsStream(task.taskIdentifier, 0), session, task)
        let number = questions.withValue { count in
            defer { count += 1 }
            return count
        }
        stream(number, completionHandler)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, needNewBodyStreamFrom offset: Int64,
        completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        note(.needsStream(task.taskIdentifier, offset), session, task)
        streamFrom(offset, completionHandler)
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

/// The same without the methods for streams.
final class StreamlessDelegate: RecordingDelegate, @unchecked Sendable {}

/// The same with the `async` spelling.
final class AsyncStreamDelegate: RecordingDelegate, @unchecked Sendable {
    // Sendable as the class it comes from.
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
        note(.needsStream(task.taskIdentifier, 0), session, task)
        await Task.yield()
        return InputStream(data: Data(bytes))
    }

    func urlSession(
        _ session: URLSession, needNewBodyStreamForTask task: URLSessionTask, from offset: Int64
    ) async -> InputStream? {
        note(.needsStream(task.taskIdentifier, offset), session, task)
        await Task.yield()
        return InputStream(data: Data(bytes.dropFirst(Int(offset))))
    }
}
