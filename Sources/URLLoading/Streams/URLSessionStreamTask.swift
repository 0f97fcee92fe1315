public import Foundation

/// A connection that a program reads and writes as bytes, by TCP, and by TLS once it asks for that.
///
/// Made by ``URLSession/streamTask(withHostName:port:)``, or of a data task whose delegate answers a response with
/// `.becomeStream`. Like every task it does nothing before `resume()`; what is asked of it before waits.
///
/// **Order.** Reads are carried out one after the other, and so are writes; the two do not wait for each other. All
/// members may be used from any thread. Completion handlers are called on the session's delegate queue, each exactly
/// once; `async` calls are not ended by cancelling the Swift task they are made in, but by `cancel()`.
///
/// **Errors.** A read or write whose time is over fails its direction with `URLError.timedOut`, and so do all that wait
/// in it and all that come later; the other direction goes on. A connection that is lost fails both, with
/// `URLError.networkConnectionLost`, once what had come before has been read. What is asked of a direction that was
/// closed fails with that error too.
///
/// **The end.** The task completes without an error when both directions are closed: reading by ``closeRead()`` or
/// because the other end has sent its last byte and that was read, writing by ``closeWrite()``. It completes with one when
/// the connection can't be made or is lost, or the task is cancelled. Until then it keeps its session.
///
/// **Back-pressure.** Beyond 64 KiB nothing is read from the network that no read has asked for.
open class URLSessionStreamTask: URLSessionTask, @unchecked Sendable {
    // Sendable as every task is.

    /// Reads at least `minBytes` and at most `maxBytes` bytes.
    ///
    /// With a minimum below 1 it waits for one byte all the same. Fewer than the minimum come only at the end of the
    /// stream; there the data is nil if there is none, and any number of reads may find that end.
    ///
    /// - Parameters:
    ///   - minBytes: How many bytes to wait for. Not more than `maxBytes`.
    ///   - maxBytes: How many bytes to take at the most. 0 waits for its turn and takes nothing.
    ///   - timeout: Seconds from the read's turn on a connection that is there; 0 for any time.
    ///   - completionHandler: Gets the data, whether nothing comes after it, and the error, with which there is no data.
    @preconcurrency open func readData(
        ofMinLength minBytes: Int, maxLength maxBytes: Int, timeout: TimeInterval,
        completionHandler: @escaping @Sendable (Data?, Bool, (any Error)?) -> Void
    ) {
        guard let core else { return completionHandler(nil, false, URLError(.cancelled)) }
        core.perform(
            .read(least: minBytes, most: maxBytes, timeout: nanoseconds(timeout), completionHandler))
    }

    /// Reads at least `minBytes` and at most `maxBytes` bytes; see
    /// ``readData(ofMinLength:maxLength:timeout:completionHandler:)``. The second value says whether nothing comes after
    /// them.
    open func readData(
        ofMinLength minBytes: Int, maxLength maxBytes: Int, timeout: TimeInterval
    ) async throws -> (Data?, Bool) {
        try await withCheckedThrowingContinuation { continuation in
            readData(ofMinLength: minBytes, maxLength: maxBytes, timeout: timeout) { data, isAtEnd, error in
                if let error {
                    continuation.resume(throwing: error)
                } else {
                    continuation.resume(returning: (data, isAtEnd))
                }
            }
        }
    }

    /// Writes all of `data`.
    ///
    /// - Parameters:
    ///   - timeout: Seconds from the write's turn on a connection that is there; 0 for any time. A part may have been sent
    ///     when it is over.
    ///   - completionHandler: Called without an error when the kernel has taken the last byte, which does not say that the
    ///     other end has got it.
    @preconcurrency open func write(
        _ data: Data, timeout: TimeInterval, completionHandler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        guard let core else { return completionHandler(URLError(.cancelled)) }
        core.perform(.write(data, timeout: nanoseconds(timeout), completionHandler))
    }

    /// Writes all of `data`; see ``write(_:timeout:completionHandler:)``.
    open func write(_ data: Data, timeout: TimeInterval) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            write(data, timeout: timeout) { error in
                if let error { continuation.resume(throwing: error) } else { continuation.resume() }
            }
        }
    }

    /// Carries out the reads and writes that were asked for, then gives the connection to the delegate as a pair of
    /// unopened streams: ``URLSessionStreamDelegate/urlSession(_:streamTask:didBecome:outputStream:)``. That is the last
    /// call of the task.
    ///
    /// The streams are read and written with calls that block, one thread each. With TLS they go on being encrypted.
    open func captureStreams() { core?.perform(.capture) }

    /// Carries out the writes that were asked for, then tells the other end that nothing more comes. Reading goes on.
    open func closeWrite() { core?.perform(.closeWriting) }

    /// Carries out the reads that were asked for, then drops what still comes. Writing goes on.
    open func closeRead() { core?.perform(.closeReading) }

    /// Carries out the reads and writes that were asked for, then speaks TLS. Reads and writes that are asked for later
    /// wait for the handshake. Without effect if TLS is spoken already.
    ///
    /// Whether to trust the server, and by which certificate to be known to it, is asked of the delegate's
    /// ``URLSessionTaskDelegate/urlSession(_:task:didReceive:completionHandler:)``; without that method the server is
    /// evaluated against the host's name. Bytes that came before the handshake and were not read make it fail.
    open func startSecureConnection() { core?.perform(.secure) }

    /// Without effect: TLS can't be left.
    @available(*, deprecated, message: "TLS cannot be disabled once it is enabled")
    open func stopSecureConnection() {}

    /// Not more than 290 years; nil for any time, and for what is no number.
    private func nanoseconds(_ seconds: TimeInterval) -> Int64? {
        seconds > 0 ? Int64(min(seconds, 9e9) * 1e9) : nil
    }
}
