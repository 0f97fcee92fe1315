/// One event of a load. Times are nanoseconds of the monotonic clock.
package struct LoadEvent: Sendable, Equatable, Codable {
    package var time: Int64
    package var kind: Kind

    package init(time: Int64, kind: Kind) {
        self.time = time
        self.kind = kind
    }

    package enum Kind: Sendable, Equatable, Codable {
        /// A fetch begins: the first, after a redirect, or a repetition after a lost connection.
        case fetchStarted(FetchReason)
        case waitingForConnectivity
        case resolutionStarted(host: String)
        case resolutionEnded(addresses: Int)
        case connectStarted(address: String)
        case connectEnded
        case secureConnectionStarted
        case secureConnectionEnded(version: UInt16, cipherSuite: UInt16)
        case connectionAssigned(ConnectionFacts)
        /// A stored response is served.
        case servedFromCache
        case requestStarted
        /// The head of a request or response, for sessions with a `headObserver`.
        case messageHead(MessageHead)
        /// The head was written to the socket.
        case requestHeadSent(bytes: Int64)
        /// `bytes` is the size of the body on the wire, with framing; `content` its size as the caller provided it.
        case requestEnded(bytes: Int64, content: Int64)
        case informationalResponse(status: Int)
        case responseStarted
        /// `isHTTP10`: a server may use another minor version of HTTP/1 for each response.
        case responseHead(status: Int, isHTTP10: Bool, bytes: Int64)
        /// `bytes` is the size of the body on the wire, with framing; `decoded` its size as the caller received it.
        case responseEnded(bytes: Int64, decoded: Int64)
        /// A WebSocket is open: the opening handshake is complete.
        case webSocketOpened(subprotocol: String?, isCompressed: Bool)
        /// The server's close frame was received. 1005 if it has no code.
        case webSocketClosed(code: Int)
        /// The exchange ended prematurely. `sent` and `received` are the bytes of both bodies on the wire; `content` is
        /// the size of the request body as the caller provided it.
        case exchangeBroken(sent: Int64, content: Int64, received: Int64)
        /// `decoded` is the number of body bytes that the caller had received.
        case failed(code: Int, decoded: Int64)
        case ended

        // The events below are only traced, not stored.

        /// The request of the following events. The URL is unredacted. Stored for the requests of a resumed upload,
        /// which are not the task's.
        case request(method: String, url: String)
        /// The cache decision: "serve", "revalidate", "load" or "fail".
        case cacheDecision(String, because: String)
        /// The request has so many cookies.
        case cookiesSent(Int)
        /// The response has so many `Set-Cookie` fields.
        case cookiesReceived(Int)
        /// What the storage did with a cookie of the response, in words: "stored", "removed" or "refused"; or
        /// "withheld" for a cookie of the site that the request does not carry. For the last two why. In the trace
        /// only.
        case cookieDecision(name: String, decision: String, reason: String?)
        /// A delegate is asked by an authentication method for a host, after that many failures.
        case challenge(method: String, host: String, port: Int, isProxy: Bool, failures: Int)
        /// The delegate's answer: the name of the disposition.
        case challengeAnswered(String)
        /// A new connection's server is trusted or not. None for a resumed TLS session that is not evaluated again.
        case serverTrust(ServerTrustResult)
        /// A message of a WebSocket was sent whole, or received.
        case webSocketMessage(isSent: Bool, isText: Bool, bytes: Int)
        /// A ping was sent (`isSent`), or its pong received.
        case webSocketPing(isSent: Bool)
        /// This end sends a close frame. 1005 if it has no code.
        case webSocketCloses(code: Int)
        /// The error of the task.
        case taskFailed(code: Int, reason: String)
        /// The task has ended without an error.
        case taskEnded
    }

    package enum FetchReason: Sendable, Equatable, Codable {
        case first
        case redirect
        /// After a response with an authentication challenge.
        case authentication
        case retry
        /// A stored response is served after a 304.
        case cache
    }
}
