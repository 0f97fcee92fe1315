internal import Foundation

extension DelegateReference {
    package func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) -> Bool {
        guard let streamDelegate else { return false }
        return deliver(.streamTaskReadClosed) { streamDelegate.urlSession(session, readClosedFor: streamTask) }
    }

    package func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) -> Bool {
        guard let streamDelegate else { return false }
        return deliver(.streamTaskWriteClosed) { streamDelegate.urlSession(session, writeClosedFor: streamTask) }
    }

    package func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask) -> Bool {
        guard let streamDelegate else { return false }
        return deliver(.streamTaskBetterRoute) {
            streamDelegate.urlSession(session, betterRouteDiscoveredFor: streamTask)
        }
    }

    package func urlSession(
        _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) -> Bool {
        guard let streamDelegate else { return false }
        return deliver(.streamTaskDidBecomeStreams) {
            streamDelegate.urlSession(
                session, streamTask: streamTask, didBecome: inputStream, outputStream: outputStream)
        }
    }
}
