/// One event of a load. Times are nanoseconds of the monotonic clock.
package struct LoadEvent: Sendable, Equatable, Codable {
    package var time: Int64
    package var kind: Kind

    package init(time: Int64, kind: Kind) {
        self.time = time
        self.kind = kind
    }

    package enum Kind: Sendable, Equatable, Codable {
        /// A request is about to be fetched: the first one, after a redirect, or again after a lost connection.
        case fetchStarted(FetchReason)
        case waitingForConnectivity
        case resolutionStarted(host: String)
        case resolutionEnded(addresses: Int)
        case connectStarted(address: String)
        case connectEnded
        case secureConnectionStarted
        case secureConnectionEnded(version: UInt16, cipherSuite: UInt16)
        case connectionAssigned(ConnectionFacts)
        /// The response is a stored one.
        case servedFromCache
        case requestStarted
        /// What a request or a response says, for sessions whose heads are observed.
        case messageHead(MessageHead)
        /// The head is with the kernel.
        case requestHeadSent(bytes: Int64)
        /// `bytes` of the body as they went over the wire, framing included; `content` as the caller gave them.
        case requestEnded(bytes: Int64, content: Int64)
        case informationalResponse(status: Int)
        case responseStarted
        /// `isHTTP10`: a server of HTTP/1 chooses the minor version anew with each response.
        case responseHead(status: Int, isHTTP10: Bool, bytes: Int64)
        /// `bytes` of the body as they came over the wire, framing included; `decoded` as the caller got them.
        case responseEnded(bytes: Int64, decoded: Int64)
        /// The exchange ended before its time: so many bytes of both bodies had been on the wire until then, of the
        /// request's `content` as the caller gave them.
        case exchangeBroken(sent: Int64, content: Int64, received: Int64)
        /// `decoded` bytes of the body had reached the caller.
        case failed(code: Int, decoded: Int64)
        case ended

        // What follows is told to a trace, and kept by no log.

        /// The request that is fetched from here on. The address is as it is, with all the secrets it may have.
        case request(method: String, url: String)
        /// What the cache makes of the request: "serve", "revalidate", "load" or "fail".
        case cacheDecision(String, because: String)
        /// A delegate is asked, by an authentication method for a host, after so many refusals.
        case challenge(method: String, host: String, port: Int, isProxy: Bool, failures: Int)
        /// What the task ends with.
        case taskFailed(code: Int, reason: String)
    }

    package enum FetchReason: Sendable, Equatable, Codable {
        case first
        case redirect
        /// After a response that asked who the user is.
        case authentication
        case retry
        /// What is stored is given in place of a response that said no more than that it is still good.
        case cache
    }
}
