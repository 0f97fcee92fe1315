import Foundation
import TestSupport
import URLLoading

/// Records the callbacks of streams, and the results of reads and writes.
final class RecordingStreamDelegate: RecordingDelegate, URLSessionStreamDelegate, @unchecked Sendable {
    // Sendable as the class it comes from.

    /// Called with the streams of a captured connection.
    var captured: @Sendable (InputStream, OutputStream) -> Void = { _, _ in }

    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
        note(.readClosed(streamTask.taskIdentifier), session, streamTask)
    }

    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
        note(.writeClosed(streamTask.taskIdentifier), session, streamTask)
    }

    func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask) {
        note(.betterRoute(streamTask.taskIdentifier), session, streamTask)
    }

    func urlSession(
        _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) {
        note(.captured(streamTask.taskIdentifier), session, streamTask)
        captured(inputStream, outputStream)
    }

    /// A read with a recorded result.
    func read(_ task: URLSessionStreamTask, _ least: Int, _ most: Int, timeout: TimeInterval = 0) {
        task.readData(ofMinLength: least, maxLength: most, timeout: timeout) { [calls] data, isAtEnd, error in
            calls.record(.read(data.map { String(decoding: $0, as: UTF8.self) }, isAtEnd, error?.urlErrorCode))
        }
    }

    /// A write with a recorded result.
    func write(_ task: URLSessionStreamTask, _ text: String, timeout: TimeInterval = 0) {
        task.write(Data(text.utf8), timeout: timeout) { [calls] in calls.record(.written($0?.urlErrorCode)) }
    }
}

extension URLSession {
    /// A stream to a server on loopback.
    func streamTask(to server: ScriptedServer) -> URLSessionStreamTask {
        streamTask(withHostName: "localhost", port: server.port)
    }
}
