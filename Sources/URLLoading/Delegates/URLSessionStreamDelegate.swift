public import Foundation

/// What a stream task tells besides what every task does.
@preconcurrency public protocol URLSessionStreamDelegate: URLSessionTaskDelegate {
    /// The other end will send no more.
    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask)

    /// Nothing more can be sent.
    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask)

    /// A better way to the host, such as another interface, has appeared.
    func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask)

    /// The connection has been handed over as a pair of streams, as asked. The task says no more.
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
