public import Foundation

/// The callbacks of stream tasks, in addition to those of all tasks.
@preconcurrency public protocol URLSessionStreamDelegate: URLSessionTaskDelegate {
    /// The read side is closed: the peer sends no more data.
    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask)

    /// The write side is closed: no more data can be sent.
    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask)

    /// A better route to the host, such as another interface, is available.
    func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask)

    /// The connection has become a pair of streams, after `captureStreams()`. The last callback of the task.
    func urlSession(
        _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
        outputStream: OutputStream)
}

extension URLSessionStreamDelegate {
    public func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
        markMissing(.streamTaskReadClosed, in: self)
    }

    public func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
        markMissing(.streamTaskWriteClosed, in: self)
    }

    public func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask) {
        markMissing(.streamTaskBetterRoute, in: self)
    }

    public func urlSession(
        _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) {
        markMissing(.streamTaskDidBecomeStreams, in: self)
    }
}
