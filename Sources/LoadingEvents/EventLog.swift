internal import CLoadingLinux

/// What happened to one load, in order, each event with its time. Metrics, waterfalls, HAR files and debug logs are
/// all read from it.
///
/// A load that nobody watches has no log, and then an event costs one comparison with nil. Confined to the load's loop
/// until the load has ended; immutable from then on.
package final class EventLog: @unchecked Sendable {
    // Sendable because it is written by one loop only, and handed on after the last event.

    package private(set) var events: [LoadEvent] = []
    /// A load that is redirected or retried for ever must not grow its log for ever.
    private static let most = 4096

    package init() {}

    /// The time of the monotonic clock, in nanoseconds.
    package static var now: Int64 { cll_now() }

    package func record(_ kind: LoadEvent.Kind, at time: Int64) {
        guard events.count < Self.most else { return }
        events.append(LoadEvent(time: time, kind: kind))
    }
}

/// One event of a load. Times are nanoseconds of the monotonic clock.
package struct LoadEvent: Sendable, Equatable {
    package var time: Int64
    package var kind: Kind

    package init(time: Int64, kind: Kind) {
        self.time = time
        self.kind = kind
    }

    package enum Kind: Sendable, Equatable {
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
        /// The head is with the kernel.
        case requestHeadSent(bytes: Int64)
        /// `bytes` of the body as they went over the wire, framing included; `content` as the caller gave them.
        case requestEnded(bytes: Int64, content: Int64)
        case informationalResponse(status: Int)
        case responseStarted
        /// `minorVersion` is that of HTTP/1, which the server chooses anew with each response.
        case responseHead(status: Int, minorVersion: Int, bytes: Int64)
        /// `bytes` of the body as they came over the wire, framing included; `decoded` as the caller got them.
        case responseEnded(bytes: Int64, decoded: Int64)
        /// The exchange ended before its time: so many bytes of both bodies had been on the wire until then, of the
        /// request's `content` as the caller gave them.
        case exchangeBroken(sent: Int64, content: Int64, received: Int64)
        /// `decoded` bytes of the body had reached the caller.
        case failed(code: Int, decoded: Int64)
        case ended
    }

    package enum FetchReason: Sendable, Equatable {
        case first
        case redirect
        /// After a response that asked who the user is.
        case authentication
        case retry
        /// What is stored is given in place of a response that said no more than that it is still good.
        case cache
    }
}

/// The connection that carried a request.
package struct ConnectionFacts: Sendable, Equatable {
    /// The ALPN name of what is spoken: "http/1.1".
    package var protocolName: String
    package var isReused: Bool
    package var localAddress: String?
    package var localPort: Int?
    package var remoteAddress: String?
    package var remotePort: Int?
    /// 0x0303 for TLS 1.2, 0x0304 for 1.3; nil in clear.
    package var tlsVersion: UInt16?
    /// The number of IANA's registry.
    package var tlsCipherSuite: UInt16?

    package init(
        protocolName: String, isReused: Bool, localAddress: String?, localPort: Int?, remoteAddress: String?,
        remotePort: Int?, tlsVersion: UInt16?, tlsCipherSuite: UInt16?
    ) {
        self.protocolName = protocolName
        self.isReused = isReused
        self.localAddress = localAddress
        self.localPort = localPort
        self.remoteAddress = remoteAddress
        self.remotePort = remotePort
        self.tlsVersion = tlsVersion
        self.tlsCipherSuite = tlsCipherSuite
    }
}
