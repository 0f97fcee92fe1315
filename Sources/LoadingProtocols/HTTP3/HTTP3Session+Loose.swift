internal import CLoadingHTTP3

/// HTTP/3 without QUIC: what a peer may say on streams, for tests.
extension HTTP3Session {
    /// A session whose peer is the caller of the methods below. So many requests may be open at a time.
    package static func loose(
        configuration: HTTP3Configuration = HTTP3Configuration(), streams: Int,
        observer: any HTTP3SessionObserver
    ) -> HTTP3Session {
        HTTP3Session(looseWith: configuration, streams: streams, observer: observer)
    }

    /// The peer sends bytes on a stream, and perhaps its end. Counts as one datagram.
    package func feed(_ bytes: UnsafeRawBufferPointer, isLast: Bool, on stream: Int64) throws(HTTP3Error) {
        try work(at: 0, datagrams: 1) { session in
            cl3_loose_feed(
                session, stream, bytes.assumingMemoryBound(to: UInt8.self).baseAddress, bytes.count, isLast)
        }
    }

    /// The peer resets its half of a stream.
    package func feedReset(_ code: HTTP3ErrorCode, on stream: Int64) throws(HTTP3Error) {
        try work(at: 0, datagrams: 1) { session in cl3_loose_reset(session, stream, code.rawValue) }
    }

    /// The peer has sent STOP_SENDING.
    package func feedStop(_ code: HTTP3ErrorCode, on stream: Int64) throws(HTTP3Error) {
        try work(at: 0, datagrams: 1) { session in cl3_loose_stop(session, stream, code.rawValue) }
    }

    /// Takes what goes out next on any stream, and acknowledges it.
    package func takeLooseOutput() -> (stream: Int64, bytes: [UInt8], isLast: Bool)? {
        guard let session = usable, !isBusy else { return nil }
        var stream: Int64 = -1
        var isLast = false
        var isThere = false
        begin()
        let bytes = [UInt8](unsafeUninitializedCapacity: 1200) { room, count in
            isThere = cl3_loose_take(session, &stream, room.baseAddress, room.count, &count, &isLast)
        }
        end()
        return isThere ? (stream, bytes, isLast) : nil
    }

    /// By how much the window of a stream was opened, or that of the connection.
    package func credit(of stream: Int64?) -> UInt64 { session.map { cl3_loose_credit($0, stream ?? -1) } ?? 0 }

    /// The code of this side's reset of a stream, until the peer has ended it too.
    package func resetCode(of stream: Int64) -> HTTP3ErrorCode? {
        let code = session.map { cl3_loose_reset_code($0, stream) } ?? 0
        return code == 0 ? nil : HTTP3ErrorCode(rawValue: code)
    }
}
