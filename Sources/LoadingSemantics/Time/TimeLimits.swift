/// Every limit of time, each with its unit and its source. An `EventLoop` has one, which all that runs on it reads; pure rules
/// and threads without a loop read `standard`.
///
/// A source is an RFC, Apple's documentation, or "decision": a choice of this project, with its reason. Durations are
/// nanoseconds of the monotonic clock unless the comment names another unit. A limit that a server sends, or that a caller sets,
/// is a value of theirs and not here.
package struct TimeLimits: Sendable, Equatable {
    package static let standard = TimeLimits()

    package init() {}

    // MARK: Event loop

    /// How long a callback may hold its loop before another thread takes it; up to twice as long, since the watch looks so
    /// often. Decision: shorter than anybody notices, longer than almost every callback (docs/decisions/0001).
    package var callback = milliseconds(2)
    /// Between two attempts to make a loop, or a thread for it, while the process has no descriptor or thread left.
    /// Decision: as `descriptorRetry`, but nothing can be loaded before that.
    package var loopRetry = milliseconds(10)
    /// Between two attempts to open a socket or a file while the process has no descriptor left. Decision: descriptors come
    /// back when some connection ends, and nothing tells.
    package var descriptorRetry = milliseconds(20)

    // MARK: Tasks

    /// `timeoutIntervalForRequest` and `timeoutInterval` unless they are set. Seconds. Source: Apple, `NSURLRequest`,
    /// `NSURLSessionConfiguration`.
    package var requestTimeout = 60.0
    /// `timeoutIntervalForResource` unless it is set. Seconds. Source: Apple, `NSURLSessionConfiguration`: seven days.
    package var resourceTimeout = 7 * 86_400.0
    /// The shortest period of a load's timer, also where the timeout is shorter or none. Seconds. Decision: the loop must have
    /// time for other loads.
    package var shortestTimerPeriod = 0.01
    /// How often within an idle timeout a load with a body looks what the server has acknowledged. A count. Decision: the
    /// timeout comes late by an eighth at most.
    package var progressChecksPerTimeout = 8.0
    /// Between two looks at the wall clock while a task waits for its `earliestBeginDate`. Seconds. Decision: a clock that is
    /// set forward is noticed after this time.
    package var wallClockCheck = 60.0

    // MARK: Exchanges

    /// How long a request body waits for `100 Continue`. Source: RFC 9110 §10.1.1 wants no indefinite wait; one second is the
    /// field's habit (CONN-23).
    package var continueTimeout = seconds(1)
    /// How long an HTTP/1.1 connection is reserved for a request whose streamed body the client has not given yet.
    /// Decision: the client may need another load from the same server before it answers.
    package var bodyReservation = seconds(1)
    /// How long a connection waits for the rest of a response that is not wanted, before it is closed. Decision: a new
    /// connection costs less.
    package var drainTimeout = seconds(1)
    /// The first pause before a request goes out again that a server refused unprocessed. It doubles. Decision (CONN-4).
    package var firstRetryPause = milliseconds(100)
    /// The longest of these pauses. Decision (CONN-4).
    package var longestRetryPause = seconds(1)
    /// The longest pause before a resumable upload asks again for its offset; the first is a second, and it doubles. Seconds.
    /// Decision (RES-17).
    package var longestUploadPause = 60

    // MARK: Connecting

    /// How long IPv4 waits for the AAAA answer, and both wait for HTTPS records. Source: RFC 8305 §3.
    package var resolutionDelay = milliseconds(50)
    /// Between two connection attempts. Source: RFC 8305 §5.
    package var attemptDelay = milliseconds(250)
    /// The bounds of `attemptDelay`. Source: RFC 8305 §5: never below 10 ms, at most 2 s.
    package var shortestAttemptDelay = milliseconds(10)
    package var longestAttemptDelay = seconds(2)
    /// After so long without an answer a cancelled attempt forgets the addresses of its host. Decision: they may be dead.
    package var addressSilence = seconds(1)
    /// An attempt older than this is not passed on to another request. Decision: what holds it up may concern this connection
    /// alone.
    package var attemptReuse = seconds(5)
    /// How long TCP waits for HTTP/3. Decision: longer than the round trip to most servers
    /// (docs/decisions/0012).
    package var http3HeadStart = milliseconds(100)
    /// How much longer an HTTP/3 attempt may take when TCP has failed. Decision (docs/decisions/0012).
    package var http3LastChance = seconds(1)
    /// How long a request waits for HTTP/3 where the origin has a connection of another version. Decision: it loses nothing
    /// but this.
    package var http3UpgradeTimeout = milliseconds(300)

    // MARK: Connections that are kept

    /// An unused HTTP/1.1 connection is closed after this time, or sooner if the server says so. Decision (CONN-19).
    package var http1Idle = seconds(60)
    /// Subtracted from what `Keep-Alive: timeout` promises. Decision: for what is on its way.
    package var keepAliveMargin = seconds(1)
    /// An unused HTTP/2 or HTTP/3 connection is closed after this time. Decision (CONN-19).
    package var multiplexedIdle = seconds(90)
    /// Within this time after its last use an idle connection carries a repeatable request without a look at its socket.
    /// Decision: a lost one is sent again (CONN-10).
    package var unverifiedReuse = seconds(1)
    /// HTTP/2: after so long without a frame the next request brings a PING. Decision.
    package var http2PingSilence = seconds(10)
    /// HTTP/2: how long an answer to a PING, the end of a stalled write, or the close after a GOAWAY may take. Decision.
    package var http2PingTimeout = seconds(10)
    /// HTTP/3: after so long without a datagram the next request brings a PING. Decision: a server that restarted tells
    /// nobody.
    package var http3PingSilence = milliseconds(5)
    /// HTTP/3: how long an answer to that may take. Decision: nothing but the next request is at stake.
    package var http3PingTimeout = seconds(3)
    /// HTTP/3: after so long without a datagram open streams bring a PING. Decision.
    package var http3StreamSilence = seconds(3)
    /// HTTP/3: how long an answer to that may take. Decision: more is at stake than the next request.
    package var http3StreamPingTimeout = seconds(10)
    /// HTTP/3: how long requests wait at a server that allows no stream, before they look for another connection. Decision.
    package var http3StreamCreditTimeout = seconds(1)
    /// QUIC's idle timeout, which both sides know (RFC 9000 §10.1). Decision: as `multiplexedIdle`.
    package var quicIdle = seconds(90)
    /// How long the QUIC handshake may take. Source: RFC 9000 §10.1 bounds it by the idle timeout; the value is a decision.
    package var quicHandshake = seconds(10)
    /// Between two packets that keep a QUIC connection in use alive. Source: RFC 9000 §10.1.2; the value is a decision.
    package var quicKeepAlive = seconds(10)
    /// How long a socket is read whose owner has closed it with bytes on their way. Decision: a reset would drop them.
    package var lingeringClose = seconds(30)
    /// How long a peer may take nothing of what is left of a captured TLS connection. Decision: as the default timeout
    /// (docs/decisions/0007).
    package var capturedPeer = seconds(60)

    /// The longest lifetime of a TLS session ticket that is believed. Seconds. Source: RFC 8446 §4.6.1: seven days.
    package var longestTicketLifetime: Int64 = 7 * 86_400

    // MARK: Names

    /// How long addresses are remembered. Decision: `getaddrinfo` gives no TTL, and 30 s is the shortest that is common.
    package var addressLifetime = seconds(30)
    /// How long HTTPS records without a TTL are remembered, and that there are none. Decision: as addresses.
    package var recordLifetime = seconds(30)
    /// The longest TTL of HTTPS records that is believed. Source: RFC 8767 §4 recommends a cap of days; one is a decision.
    package var longestRecordLifetime = seconds(86_400)
    /// How long each name server gets for its first answer about HTTPS records. Seconds. Decision: connections do not wait for it.
    package var recordQueryTimeout: Int32 = 2
    /// How long a thread of the resolver or of a proxy script waits for its next question. Seconds. Decision.
    package var resolverThreadIdle = 10

    // MARK: Routes

    /// From the first change of links, addresses or routes until it is told. Decision: the others of the same event come in
    /// this time.
    package var routeChangeDelay = milliseconds(50)
    /// Between two attempts while the kernel gives no socket to watch the routes with. Decision.
    package var routeWatchRetry = seconds(1)

    // MARK: Proxies

    /// How long a proxy may be silent, or a third of the idle timeout, before the next route is tried. Decision: two more SYNs
    /// and an answer to each (PROXY-7).
    package var proxySilence = seconds(5)
    /// How many routes are tried within an idle timeout. A count. Decision (PROXY-7).
    package var routesPerTimeout = 3.0
    /// How long a failed proxy comes last. Decision: five minutes, as in Chromium.
    package var failedProxy = seconds(300)
    /// How long the search for a route may take: a script's own time, and as much again to fetch it. Decision.
    package var routeSearch = seconds(15)
    /// How long a call of a proxy script may compute, and with its DNS lookups. Decision (docs/decisions/0013).
    package var proxyScript = seconds(5)
    package var proxyScriptWithLookups = seconds(10)
    /// Between two attempts to start the process of a proxy script. Milliseconds. Decision.
    package var proxyScriptRetry: Int32 = 50
    /// How long the answer of a script or of the desktop is remembered. Decision: scripts may go by the time of day.
    package var proxyAnswerLifetime = seconds(30)
    /// How long a fetched proxy script is used. Decision.
    package var proxyScriptLifetime = seconds(600)
    /// How long a script that could not be fetched, or a desktop that was silent, is left alone. Decision.
    package var proxySourcePause = seconds(30)

    // MARK: Alternative services

    /// How long HTTP/3 is not tried after its first failure; it doubles. Source: RFC 7838 §2.4 leaves it open; the value is a
    /// decision (CONN-8).
    package var firstBrokenService = seconds(300)
    /// The longest of these times. Decision: two days (CONN-8).
    package var longestBrokenService = seconds(2 * 86_400)
    /// How long an alternative service without `ma` is valid. Seconds. Source: RFC 7838 §3.1: 24 hours.
    package var alternativeLifetime: Int64 = 86_400
    /// The longest `ma` that is believed. Seconds. Decision: thirty days, the most that is common.
    package var longestAlternativeLifetime: Int64 = 30 * 86_400

    // MARK: Stores

    /// The longest lifetime of a cookie. Seconds. Source: RFC 6265bis §5.5: 400 days.
    package var longestCookieLifetime = 400 * 86_400.0
    /// Between two looks for what other processes have changed in a store. Seconds. Decision.
    package var storeCheck = 1
    /// How long a database waits for another process, while its file is in order and while it is not. Milliseconds. Decision:
    /// loads wait for the answer.
    package var databaseLock: Int32 = 2000
    package var databaseLockInTrouble: Int32 = 20
    /// How long the repair of a file waits for another process that repairs it. Decision: as `databaseLock`.
    package var folderLock = seconds(2)
    /// Between two attempts to get that lock. Decision.
    package var folderLockRetry = milliseconds(10)
    /// How long the keyring may take to answer. Milliseconds. Decision.
    package var keyring: UInt32 = 10_000
    /// How long a keyring that did not answer is left alone, in times of `keyring`. A count. Decision: five minutes.
    package var keyringPauseFactor: Int64 = 30
    /// How long the end of the process waits for stores to be written. Decision: a disk that hangs must not keep it alive.
    package var exitFlush = seconds(2)
    /// The age at which files of interrupted downloads are removed. Seconds. Decision: as `resourceTimeout`.
    package var unfinishedFile = 7 * 86_400

    package static func seconds(_ count: Int64) -> Int64 { count * 1_000_000_000 }
    package static func milliseconds(_ count: Int64) -> Int64 { count * 1_000_000 }
}
