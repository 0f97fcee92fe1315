internal import LoadingProtocols
internal import LoadingTransport

/// What follows the head of a response can wait, until it is known whose it is.
extension HTTP1Connection {
    /// Reads ahead with a copy of the parser, so that the same is read again.
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

    /// Has what follows the head wait, unread as far as may be, for `resumeBody` or `detachConnection`. Has no effect but while the
    /// head is told.
    package func holdBody() { isRestHeld = isTellingHead }

    /// Goes on with what follows the head.
    package func resumeBody() {
        guard isRestHeld, observer != nil else { return }
        isRestHeld = false
        let bytes = rest
        rest = []
        if hasSwitched { return finish(mayReuse: false) }
        bytes.withUnsafeBytes { parse($0) }
    }

    /// Gives the connection away from the end of the head on; the observer hears nothing more. Nil when it has gone
    /// another way already, or the request is not sent to its end.
    package func detachConnection() -> DetachedConnection? {
        guard observer != nil, isRestHeld, isSentWhole, !isClosed else { return nil }
        let bytes = rest
        rest = []
        observer = nil
        endSending()
        pool.loop.disarm(expiryTimer)
        pool.letGo(self)
        return DetachedConnection(stream: stream, origin: primaryOrigin.key, rest: bytes)
    }
}
