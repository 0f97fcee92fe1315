public import Foundation

/// A TCP connection that a program reads and writes as bytes, optionally with TLS.
///
/// Created by ``URLSession/streamTask(withHostName:port:)``, or from a data task whose delegate answers a response with
/// `.becomeStream`. Like all tasks it starts with `resume()`; earlier operations are queued.
///
/// **Order.** Reads are performed in order, and so are writes; reads and writes are independent of each other. All
/// members are thread-safe. Completion handlers are called exactly once, on the session's delegate queue. Cancelling
/// the Swift task of an `async` call does not end the call; `cancel()` does.
///
/// **Errors.** A read or write that times out fails with `URLError.timedOut`, and so do all queued and later operations
/// of that direction; the other direction continues. A lost connection fails both directions with
/// `URLError.networkConnectionLost`, after the data received before has been read. Operations on a closed direction
/// fail with that error too.
///
/// **The end.** The task completes without an error when both directions are closed: reading with ``closeRead()`` or
/// after the peer's last byte was read, writing with ``closeWrite()``. It completes with an error if the connection
/// cannot be established or is lost, or the task is cancelled. Until then it retains its session.
///
/// **Back-pressure.** At most 64 KiB are read from the network ahead of the reads.
open class URLSessionStreamTask: URLSessionTask, @unchecked Sendable {
    // Sendable as every task is.

    /// Reads at least `minBytes` and at most `maxBytes` bytes.
    ///
    /// A minimum below 1 counts as 1. Fewer bytes than the minimum are returned only at the end of the stream. At the
    /// end the data is nil if there is none; further reads also return the end.
    ///
    /// - Parameters:
    ///   - minBytes: The minimum number of bytes, at most `maxBytes`.
    ///   - maxBytes: The maximum number of bytes. 0 completes in order without data.
    ///   - timeout: Seconds, measured while this read is the current one on an established connection; 0 for no limit.
    ///   - completionHandler: Receives the data, whether the stream has ended, and the error, with which there is no
    ///     data.
    @preconcurrency open func readData(
        ofMinLength minBytes: Int, maxLength maxBytes: Int, timeout: TimeInterval,
        completionHandler: @escaping @Sendable (Data?, Bool, (any Error)?) -> Void
    ) {
        guard let core else { return completionHandler(nil, false, URLError(.cancelled)) }
        core.perform(
            .read(least: minBytes, most: maxBytes, timeout: nanoseconds(timeout), completionHandler))
    }

    /// Reads at least `minBytes` and at most `maxBytes` bytes; see
    /// ``readData(ofMinLength:maxLength:timeout:completionHandler:)``. The second value is whether the stream has
    /// ended.
    @_disfavoredOverload
    open func readData(
        ofMinLength minBytes: Int, maxLength maxBytes: Int, timeout: TimeInterval
    ) async throws -> (Data?, Bool) {
        try await withCheckedThrowingContinuation { continuation in
            let handler: @Sendable (Data?, Bool, (any Error)?) -> Void = { data, isAtEnd, error in
                if let error {
                    continuation.resume(throwing: error)
                } else {
                    continuation.resume(returning: (data, isAtEnd))
                }
            }
            // An object without a core is that of a subclass, which may override the other method.
            guard let core else {
                return readData(
                    ofMinLength: minBytes, maxLength: maxBytes, timeout: timeout, completionHandler: handler)
            }
            core.perform(
                .read(least: minBytes, most: maxBytes, timeout: nanoseconds(timeout), handler), for: .continuation)
        }
    }

    /// Writes all of `data`.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - timeout: Seconds, measured while this write is the current one on an established connection; 0 for no limit.
    ///     After a timeout a part of the data may have been sent.
    ///   - completionHandler: Called without an error when the kernel has accepted the last byte. The peer may not have
    ///     received it yet.
    @preconcurrency open func write(
        _ data: Data, timeout: TimeInterval, completionHandler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        guard let core else { return completionHandler(URLError(.cancelled)) }
        core.perform(.write(data, timeout: nanoseconds(timeout), completionHandler))
    }

    /// Writes all of `data`; see ``write(_:timeout:completionHandler:)``.
    @_disfavoredOverload
    open func write(_ data: Data, timeout: TimeInterval) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let handler: @Sendable ((any Error)?) -> Void = { error in
                if let error { continuation.resume(throwing: error) } else { continuation.resume() }
            }
            guard let core else { return write(data, timeout: timeout, completionHandler: handler) }
            core.perform(.write(data, timeout: nanoseconds(timeout), handler), for: .continuation)
        }
    }

    /// Completes the queued reads and writes, then passes the connection to the delegate as a pair of unopened streams:
    /// ``URLSessionStreamDelegate/urlSession(_:streamTask:didBecome:outputStream:)``, the last callback of the task.
    ///
    /// The streams block, so each needs its own thread. With TLS the connection stays encrypted.
    open func captureStreams() { core?.perform(.capture) }

    /// Completes the queued writes, then closes the write side. Reading continues.
    open func closeWrite() { core?.perform(.closeWriting) }

    /// Completes the queued reads, then discards further data. Writing continues.
    open func closeRead() { core?.perform(.closeReading) }

    /// Completes the queued reads and writes, then performs a TLS handshake. Later reads and writes wait for it. No
    /// effect if TLS is in use already.
    ///
    /// Server trust and client certificate challenges go to the delegate's
    /// ``URLSessionTaskDelegate/urlSession(_:task:didReceive:completionHandler:)``. Without that method the server's
    /// certificate is evaluated for the host name. The handshake fails if unread data was received before it.
    open func startSecureConnection() { core?.perform(.secure) }

    /// No effect: TLS cannot be ended on a connection.
    @available(*, deprecated, message: "TLS cannot be disabled once it is enabled")
    open func stopSecureConnection() {}

    /// At most about 290 years; nil for no limit and for NaN.
    private func nanoseconds(_ seconds: TimeInterval) -> Int64? {
        seconds > 0 ? Int64(min(seconds, 9e9) * 1e9) : nil
    }
}
