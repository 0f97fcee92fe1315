public import Foundation

/// A step of a task, or a message of the library, for logs, metrics and traces. See ``URLSession/eventHandler``.
///
/// Nothing in it is secret: URLs have no user information, query and fragment, and there are no fields and no bodies.
public struct URLSessionEvent: Sendable, Equatable, CustomStringConvertible {
    /// What has happened. Later versions may have others.
    public struct Name: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        /// A request and its response begin: `reason` is `first`, `redirect`, `authentication`, `retry` or `cache`.
        public static let transactionBegan = Name(rawValue: "transaction.began")
        /// The request of the events that follow: `http.request.method`, `url.full`.
        public static let request = Name(rawValue: "request")
        /// No route leads to the server, and the task waits for one.
        public static let waitingForConnectivity = Name(rawValue: "connectivity.waiting")
        /// What the cache does (`decision`: `serve`, `revalidate`, `load`, `fail`), and `reason`.
        public static let cacheDecision = Name(rawValue: "cache.decision")
        /// The cache has served the response.
        public static let cacheServed = Name(rawValue: "cache.served")
        /// Cookies are sent: `count` is the number of them.
        public static let cookiesSent = Name(rawValue: "cookies.sent")
        /// The response has `Set-Cookie` fields: `count` is the number of them. The storage may refuse some.
        public static let cookiesReceived = Name(rawValue: "cookies.received")
        /// What the storage did with one of them: `name`, `decision` (`stored`, `removed` because it has expired, or
        /// `refused`), and `reason` if it was refused. Or why a stored cookie of the request's site is not sent:
        /// `decision` is then `withheld`; at most 50 for each request. Never has a value. Not made for subclasses
        /// of ``HTTPCookieStorage``, which decide themselves, nor while the storage's file is being read.
        public static let cookieDecision = Name(rawValue: "cookie.decision")
        /// A DNS lookup begins: `server.address`.
        public static let resolutionBegan = Name(rawValue: "dns.began")
        /// The DNS lookup has ended, with `count` addresses.
        public static let resolutionEnded = Name(rawValue: "dns.ended")
        /// A connection is being made: `network.peer.address`.
        public static let connectBegan = Name(rawValue: "connect.began")
        /// The connection is established.
        public static let connectEnded = Name(rawValue: "connect.ended")
        /// The TLS handshake begins.
        public static let secureConnectionBegan = Name(rawValue: "tls.began")
        /// The server of a new connection, or a proxy of it, is trusted or not: `server.address`, `decision` (`trusted`
        /// or `refused`), `by`, and `reason` if it was refused by others than the delegate. What decided (`by`) is
        /// `system` (a root of the system or of its administrator), `additionalAuthority` (one that the session adds),
        /// `delegate`, or, for refusals, `evaluation` (of the certificates) or `transportSecurity` (App Transport
        /// Security). Made for a resumed TLS session only if it is evaluated again, and never for a connection that is
        /// reused.
        public static let serverTrust = Name(rawValue: "tls.trust")
        /// The TLS handshake has ended, and the certificate was accepted: `tls.protocol.version`, `tls.cipher`.
        public static let secureConnectionEnded = Name(rawValue: "tls.ended")
        /// The request has a connection: `network.protocol.name`, `network.peer.address`, `network.peer.port`,
        /// `reused`.
        public static let connection = Name(rawValue: "connection")
        /// A delegate is asked: `method`, `server.address`, `server.port`, `failures`. The method for server trust is
        /// `NSURLAuthenticationMethodServerTrust`.
        public static let challenge = Name(rawValue: "challenge")
        /// Its answer: `disposition`.
        public static let challengeAnswered = Name(rawValue: "challenge.answered")
        /// The head of the request was sent: `bytes`.
        public static let requestHeadSent = Name(rawValue: "request.head")
        /// The request was sent: `bytes` of the body.
        public static let requestEnded = Name(rawValue: "request.ended")
        /// An informational response: `http.response.status_code`.
        public static let informationalResponse = Name(rawValue: "response.informational")
        /// The first byte of the response.
        public static let responseBegan = Name(rawValue: "response.began")
        /// The head of the response: `http.response.status_code`, `bytes`.
        public static let responseHead = Name(rawValue: "response.head")
        /// The response is complete: `bytes` of the body as on the wire, `decoded` as the program gets it.
        public static let responseEnded = Name(rawValue: "response.ended")
        /// A WebSocket is open.
        public static let webSocketOpened = Name(rawValue: "websocket.opened")
        /// A message of a WebSocket was `sent` or received: `bytes`.
        public static let webSocketMessage = Name(rawValue: "websocket.message")
        /// A close frame was `sent` or received: `code`.
        public static let webSocketClosed = Name(rawValue: "websocket.closed")
        /// A request and its response have ended: `http.request.method`, `server.address`, `http.response.status_code`,
        /// `network.protocol.name`, or `error.type` with a code of `NSURLErrorDomain`.
        public static let transactionEnded = Name(rawValue: "transaction.ended")
        /// The task has ended: `error.type` if it has failed.
        public static let taskEnded = Name(rawValue: "task.ended")
        /// A message of the library that does not concern a task: for example, a cookie file cannot be written. Without
        /// a handler it is written to standard error.
        public static let message = Name(rawValue: "message")
        /// The handler was too slow, and `count` events are missing here.
        public static let eventsLost = Name(rawValue: "events.lost")
    }

    /// How much an event matters.
    public enum Level: Int, Comparable, Sendable {
        /// A step of a task.
        case debug
        /// The end of a request, or of a task.
        case info
        /// A failed task.
        case warning
        /// A failure outside of tasks.
        case error

        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// What has happened.
    public let name: Name
    /// How much it matters.
    public let level: Level
    /// When it has happened. Events of a connection that another task has begun may be older than those before them.
    public let date: Date
    /// The time since the transaction has begun; for the end of a task, since the task has.
    public let elapsed: Duration
    /// The number of the session in the process, from 1, in the order of their creation; nil if no session is
    /// concerned.
    public let session: Int?
    /// The identifier of the task.
    public let task: Int?
    /// One line of text for people.
    public let message: String
    /// Values for programs. The names are those of OpenTelemetry where it has one. Times are in milliseconds, sizes in
    /// bytes.
    public let attributes: [String: String]

    public var description: String {
        let concerned = session.map { session in task.map { "\(session).\($0) " } ?? "\(session) " } ?? ""
        return "\(concerned)\(name): \(message)"
    }
}

extension URLSession {
    /// Receives the events of all sessions of the process; nil, the default, costs nothing.
    ///
    /// The handler is called on a separate queue, one event after the other, and never delays a load: if it is slower
    /// than the sessions, events are lost, and ``URLSessionEvent/Name/eventsLost`` says how many. Tasks that began
    /// before it was set have no events. A handler that was replaced is not called again, except for a call that has
    /// begun. Transfers of background sessions run in another process, so there are only events of their ends.
    ///
    /// Messages of the library, for example about files that cannot be written, go to the handler instead of standard
    /// error. The variable `URLSESSION_LOG` is independent of it.
    @_disfavoredOverload
    public static var eventHandler: (@Sendable (URLSessionEvent) -> Void)? {
        get { EventDelivery.shared.handler }
        set { EventDelivery.shared.handler = newValue }
    }
}
