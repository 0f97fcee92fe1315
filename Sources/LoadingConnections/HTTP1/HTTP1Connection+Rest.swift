internal import LoadingProtocols
internal import LoadingTransport

/// The bytes after a response head can wait until it is decided which part reads them: HTTP, or the owner of the
/// detached connection.
extension HTTP1Connection {
    /// Reads ahead with a copy of the parser, so that the parser reads the same bytes again later.
    package func startOfBody(most: Int) -> [UInt8]? {
        var parser = parser
        var input = unparsed
        var start: [UInt8] = []
        while start.count < most {
            guard case .body(let bytes) = try? parser.next(&input) else { break }
            start.append(contentsOf: bytes.prefix(most - start.count))
        }
        return start
    }

    package func holdBody() { isRestHeld = isDeliveringHead }

    package func resumeBody() {
        guard isRestHeld, observer != nil else { return }
        isRestHeld = false
        let bytes = rest
        rest = []
        if hasSwitched { return finish(mayReuse: false) }
        bytes.withUnsafeBytes { parse($0) }
    }

    /// Nil if the rest is not held, the exchange is over, the connection is closed, or the request is not sent
    /// completely.
    package func detachConnection() -> DetachedConnection? {
        guard observer != nil, isRestHeld, isSentWhole, !isClosed else { return nil }
        let bytes = rest
        rest = []
        observer = nil
        endSending()
        pool.loop.disarm(expiryTimer)
        pool.remove(self)
        return DetachedConnection(stream: stream, key: primaryOrigin.key, rest: bytes)
    }
}
