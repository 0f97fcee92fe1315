/// All time limits, each with unit and source. An `EventLoop` has its own value, which all code on that loop reads.
/// Pure rules, and threads without a loop, use `standard`.
///
/// A source is an RFC, Apple's documentation, or "decision": a choice of this project, with its reason. Durations are
/// nanoseconds of the monotonic clock unless the comment names another unit. Limits that servers send or callers set
/// are not here.
package struct TimeLimits: Sendable, Equatable {
    package static let standard = TimeLimits()

    package init() {}

    // MARK: Event loop

    /// How long a callback may occupy its loop before another thread takes over the loop. Up to twice as long, which is
    /// the sampling interval. Decision: too short to notice, longer than almost all callbacks (docs/decisions/0001).
    package var callback = milliseconds(2)
    /// How long the requests of `async` callers that were resumed together wait for each other. Decision: less than the
    /// time of a round trip outside of one building (docs/decisions/0019).
    package var gathering = milliseconds(1)
    /// How long a `fork` waits for a loop to sleep. Decision: a loop that is busy for longer may be blocked in a
    /// callback that waits for the fork.
    package var fork = milliseconds(20)
    /// Interval of the attempts to give a loop its descriptors or a thread while the process has none.
    /// Decision: as `descriptorRetry`, but nothing can be loaded before that.
    package var loopRetry = milliseconds(10)
    /// Interval of the attempts to open a socket or file while the process has no free descriptor. Decision: a
    /// descriptor becomes free when some connection ends, which sends no notification.
    package var descriptorRetry = milliseconds(20)

    // MARK: Tasks

    /// Default of `timeoutIntervalForRequest` and `timeoutInterval`. Seconds. Source: Apple, `NSURLRequest`,
    /// `NSURLSessionConfiguration`.
    package var requestTimeout = 60.0
    /// Default of `timeoutIntervalForResource`. Seconds. Source: Apple, `NSURLSessionConfiguration`: seven days.
    package var resourceTimeout = 7 * 86_400.0
    /// The shortest period of a load's timer, also for a shorter timeout. Seconds. Decision: leaves the loop time for
    /// other loads.
    package var shortestTimerPeriod = 0.01
    /// How often within an idle timeout an uploading load checks what the peer has acknowledged. A count. Decision:
    /// delays the timeout by at most an eighth.
    package var progressChecksPerTimeout = 8.0
    /// How long the end of a failed or cancelled download waits until its file is closed. Decision: long enough for a
    /// busy disk, because what was received is lost to a resumed download without it; a disk may hang for hours.
    package var fileClosing = seconds(10)
    /// How long `taskIdentifier` waits until a background session is attached. Seconds. Decision: the service has then
    /// failed, and an identifier that is never valid does less harm than a program that hangs.
    package var backgroundAttach = 10.0
    /// The pauses before a background session connects to the service again, after which the service counts as lost.
    /// Decision: a new process is up within milliseconds; an update of the program may take seconds.
    package var backgroundReconnects = [
        milliseconds(10), milliseconds(100), milliseconds(400), seconds(2), seconds(5), seconds(10),
    ]

    // MARK: Exchanges

    /// How long a request body waits for `100 Continue`. Source: RFC 9110 §10.1.1 forbids an indefinite wait; one
    /// second is common (CONN-23).
    package var continueTimeout = seconds(1)
    /// How long an HTTP/1.1 connection is reserved for a request whose streamed body the client has not provided yet.
    /// Decision: the client may need another load from the same server first.
    package var bodyReservation = seconds(1)
    /// How long a connection waits for the rest of an unwanted response before it is closed. Decision: a new connection
    /// is cheaper.
    package var drainTimeout = seconds(1)
    /// The same for a connection that is held for the next step of an authentication. Decision: on a new connection the
    /// authentication begins anew.
    package var heldDrainTimeout = seconds(30)
    /// The first pause before a refused, unprocessed request is repeated. Doubles with each refusal. Decision (CONN-4).
    package var firstRetryPause = milliseconds(100)
    /// The same while the server answers other requests. Shorter, because the next connection may have room. Decision
    /// (CONN-4).
    package var firstRetryPauseWhileServing = milliseconds(5)
    /// The longest of these pauses. Decision (CONN-4).
    package var longestRetryPause = seconds(1)
    /// The longest pause before a resumable upload retrieves its offset again. The first is one second, and it doubles.
    /// Seconds. Decision (RES-17).
    package var longestUploadPause = 60

    // MARK: Connecting

    /// How long IPv4 waits for the AAAA response, and both for HTTPS records. Source: RFC 8305 §3.
    package var resolutionDelay = milliseconds(50)
    /// Interval of connection attempts to different addresses. Source: RFC 8305 §5.
    package var attemptDelay = milliseconds(250)
    /// The bounds of `attemptDelay`. Source: RFC 8305 §5: never below 10 ms, at most 2 s.
    package var shortestAttemptDelay = milliseconds(10)
    package var longestAttemptDelay = seconds(2)
    /// If the addresses of a host are cached and none answers for this time, its name is resolved again. A cancelled
    /// attempt that got no response for this time discards the addresses. Decision: they may be unreachable.
    package var addressSilence = seconds(1)
    /// How long a host that has accepted a connection may send nothing in the TLS handshake, before another of its
    /// addresses is tried, and other requests wait for it no longer. Decision: longer than a busy server takes.
    package var handshakeSilence = seconds(5)
    /// An attempt older than this is not reused for another request. Decision: its delay may be specific to this
    /// connection.
    package var attemptReuse = seconds(5)
    /// How long TCP waits for HTTP/3. Decision: longer than the round trip to most servers (docs/decisions/0012).
    package var http3HeadStart = milliseconds(100)
    /// How long an HTTP/3 attempt may continue after TCP has failed. Decision (docs/decisions/0012).
    package var http3LastChance = seconds(1)
    /// How long a request waits for HTTP/3 if the origin has a connection of another version. Decision: bounds the
    /// delay of the request.
    package var http3UpgradeTimeout = milliseconds(300)

    // MARK: Idle connections

    /// An idle HTTP/1.1 connection is closed after this time, or earlier if the server announced less. Decision
    /// (CONN-19).
    package var http1Idle = seconds(60)
    /// Subtracted from the server's `Keep-Alive: timeout`. Decision: covers the transmission time.
    package var keepAliveMargin = seconds(1)
    /// An HTTP/2 or HTTP/3 connection without streams is closed after this time. Decision (CONN-19).
    package var multiplexedIdle = seconds(90)
    /// Within this time after its last use, an idle HTTP/2 connection is used for a repeatable request without checking
    /// its socket. Decision: longer than the pause between the requests of a sequence, which then cost no system call
    /// for it. A lost request is repeated (CONN-10).
    package var unverifiedReuse = milliseconds(1)
    /// The TLS of a stream or WebSocket keeps its record buffers when one read follows the other within this time.
    /// Decision: one message to each of many connections costs no memory.
    package var recordBufferInterval = milliseconds(50)
    /// How long it keeps them without a read. Decision: longer than the pauses of a transfer.
    package var recordBufferLifetime = seconds(1)
    /// HTTP/2: a request after this time without a frame is accompanied by a PING. Decision.
    package var http2PingSilence = seconds(10)
    /// HTTP/2: timeout of a PING, of a stalled write, and of closing after GOAWAY. Decision.
    package var http2PingTimeout = seconds(10)
    /// HTTP/3: a request after this time without a datagram is accompanied by a PING. Decision: a restarted server
    /// sends no notification.
    package var http3PingSilence = milliseconds(5)
    /// HTTP/3: timeout of that PING. Decision: affects only the next request.
    package var http3PingTimeout = seconds(3)
    /// HTTP/3: open streams send a PING after this time without a datagram. Decision.
    package var http3StreamSilence = seconds(3)
    /// HTTP/3: timeout of that PING. Decision: longer, because running exchanges are affected.
    package var http3StreamPingTimeout = seconds(10)
    /// HTTP/3: how long requests wait for stream credit before they use another connection. Decision.
    package var http3StreamCreditTimeout = seconds(1)
    /// QUIC's idle timeout, which both endpoints negotiate (RFC 9000 §10.1). Decision: as `multiplexedIdle`.
    package var quicIdle = seconds(90)
    /// Timeout of the QUIC handshake. Source: RFC 9000 §10.1 bounds it by the idle timeout; the value is a decision.
    package var quicHandshake = seconds(10)
    /// Interval of keep-alive packets of a QUIC connection in use. Source: RFC 9000 §10.1.2; the value is a decision.
    package var quicKeepAlive = seconds(10)
    /// How long a closed socket with unacknowledged bytes is still read. Decision: closing earlier resets the
    /// connection and loses the bytes.
    package var lingeringClose = seconds(30)
    /// How long a WebSocket waits for the server's close frame, and for its own to be sent. Source: RFC 6455 §7.1.1
    /// expects a reasonable limit; the value is a decision.
    package var webSocketClose = seconds(5)
    /// How long the end of a WebSocket waits for the next call of an `async` method after the one that has returned the
    /// last message. Decision: much longer than an executor takes to resume the caller.
    package var webSocketResumption = milliseconds(100)
    /// How long the peer of a captured TLS connection may accept none of the remaining bytes. Decision: as the default
    /// timeout (docs/decisions/0007).
    package var capturedPeer = seconds(60)

    /// The longest accepted lifetime of a TLS session ticket. Seconds. Source: RFC 8446 §4.6.1: seven days.
    package var longestTicketLifetime: Int64 = 7 * 86_400

    // MARK: Name resolution

    /// How long addresses are cached. Decision: `getaddrinfo` returns no TTL, and 30 s is the shortest common one.
    package var addressLifetime = seconds(30)
    /// How long HTTPS records without a TTL, and their absence, are cached. Decision: as addresses.
    package var recordLifetime = seconds(30)
    /// The longest accepted TTL of HTTPS records. Source: RFC 8767 §4 recommends a cap of days; one day is a decision.
    package var longestRecordLifetime = seconds(86_400)
    /// Timeout of each name server for an HTTPS query. Seconds. Decision: connections do not wait for it.
    package var recordQueryTimeout: Int32 = 2
    /// How long an idle thread of the resolver or of a proxy script stays alive. Seconds. Decision.
    package var resolverThreadIdle = 10

    // MARK: Services in the local network

    /// How long the system bus and Avahi may take for a reply. Decision: the bus may have to start the daemon.
    package var discoveryReply = seconds(10)
    /// How long after Avahi has given up on a service, which it does after five seconds, it is asked again. Decision.
    package var discoveryRetry = seconds(1)
    /// Timeout of `NetService.resolve()`. Source: Apple, `NSNetService`.
    package var serviceResolution = seconds(5)
    /// How long a stream task waits for addresses of the other family. Source: RFC 8305 §3, as `resolutionDelay`.
    package var serviceFamilyDelay = milliseconds(50)
    /// Timeout of the lookup of a `.local` name by Avahi. Decision: Avahi's own.
    package var multicastLookup = seconds(5)

    // MARK: Background transfers

    /// How long the exit of a program waits until a delegate's class is known to decide about server trust or not.
    /// Seconds. Decision: as long as a handshake usually takes at most; only once for each class and executable.
    package var backgroundTrust = 3.0
    /// The life of the record of a background session without tasks, which no program uses. Seconds. Decision: a
    /// program that is run once a month keeps its task identifiers.
    package var backgroundSession = 31 * 86_400.0
    /// How long after a failure the journal of background transfers is written again. Decision: a full disk is rarely
    /// emptied sooner.
    package var journalRetry = seconds(5)
    /// How often the progress of background transfers is told to their program. Decision: as often as people can see.
    package var backgroundProgress = milliseconds(100)

    /// How long the start of the service may take: a process waits for another that starts or ends it. Decision: as
    /// `quicHandshake`; on a slow disk the end of a service takes seconds.
    package var serviceStart = seconds(10)
    /// Interval of the attempts to get that lock. Decision.
    package var serviceLockRetry = milliseconds(10)
    /// How long the service waits for the next program before it ends. Decision: a script that runs a command several
    /// times uses one process.
    package var serviceIdle = seconds(10)
    /// How long a program that was launched may take to attach before it is launched again. Doubles with each launch.
    /// Seconds. Source: Apple's developer forum, thread 14854 (BG-15); its first value is 60 s.
    package var launchDelay = 60.0
    /// The longest of these times. Seconds. Decision: a program that does not attach within a day is not missed sooner.
    package var longestLaunchDelay = 86_400.0
    /// How long a bus or a daemon on it may take for a reply. Decision: as `discoveryReply`.
    package var busReply = seconds(10)
    /// How long after the bus has ended the connection it is tried again. Doubles with each try. Decision: a bus is
    /// back within seconds, or not at all.
    package var busRetry = seconds(1)

    // MARK: Routes

    /// Delay of the notification after the first change of links, addresses or routes. Decision: other changes of the
    /// same event follow within this time.
    package var routeChangeDelay = milliseconds(50)
    /// Interval of the attempts to open a socket that reports route changes. Decision.
    package var routeWatchRetry = seconds(1)

    // MARK: Proxies

    /// How long a proxy may be silent before the next route is tried; at most a third of the idle timeout. Decision:
    /// two more SYNs and a response to each (PROXY-7).
    package var proxyTimeout = seconds(5)
    /// The number of routes that are tried within an idle timeout. A count. Decision (PROXY-7).
    package var routesPerTimeout = 3.0
    /// How long a failed proxy is tried last. Decision: five minutes, as in Chromium.
    package var failedProxy = seconds(300)
    /// Timeout of the search for a route: the script's own time, and the same again to fetch it. Decision.
    package var routeSearch = seconds(15)
    /// Timeout of a call of a PAC script, without and with DNS lookups. Decision (docs/decisions/0013).
    package var proxyScript = seconds(5)
    package var proxyScriptWithLookups = seconds(10)
    /// Interval of the attempts to start the process of a PAC script. Milliseconds. Decision.
    package var proxyScriptRetry: Int32 = 50
    /// How long an answer of a PAC script or of the desktop is cached. Decision: scripts may depend on the time of day.
    package var proxyAnswerLifetime = seconds(30)
    /// How long a fetched PAC script is cached. Decision.
    package var proxyScriptLifetime = seconds(600)
    /// How long a script that could not be fetched, or a desktop that did not answer, is not queried again. Decision.
    package var proxySourcePause = seconds(30)

    // MARK: Alternative services

    /// How long HTTP/3 is not tried after its first failure. Doubles with each failure. Source: RFC 7838 §2.4 leaves it
    /// open; the value is a decision (CONN-8).
    package var firstBrokenService = seconds(300)
    /// The longest of these times. Decision: two days (CONN-8).
    package var longestBrokenService = seconds(2 * 86_400)
    /// The lifetime of an alternative service without `ma`. Seconds. Source: RFC 7838 §3.1: 24 hours.
    package var alternativeLifetime: Int64 = 86_400
    /// The longest accepted `ma`. Seconds. Decision: thirty days, the longest common value.
    package var longestAlternativeLifetime: Int64 = 30 * 86_400

    // MARK: Stores

    /// The longest lifetime of a cookie. Seconds. Source: RFC 6265bis §5.5: 400 days.
    package var longestCookieLifetime = 400 * 86_400.0
    /// Interval of the checks for changes that other processes made to a store. Seconds. Decision.
    package var storeCheck = 1
    /// A file that an FTP server modified within this time gives no resume data: its modification time has only
    /// seconds. Source: RFC 7232 §2.2.2, which has a minute for clocks that differ.
    package var freshFile = seconds(60)
    /// How long a load waits for its stored response on disk. Decision: longer than a busy disk takes, and the server
    /// can answer too; a disk may hang for hours.
    package var cacheLookup = seconds(3)
    /// How long a database waits for another process, normally and after a failure. Milliseconds. Decision: loads wait
    /// for the result.
    package var databaseLock: Int32 = 2000
    package var databaseLockInTrouble: Int32 = 20
    /// How long the repair of a file waits for a repair by another process. Decision: as `databaseLock`.
    package var folderLock = seconds(2)
    /// Interval of the attempts to get that lock. Decision.
    package var folderLockRetry = milliseconds(10)
    /// Timeout of the keyring. Milliseconds. Decision.
    package var keyring: UInt32 = 10_000
    /// How long a keyring that did not answer is not used, as a multiple of `keyring`. A count. Decision: five minutes.
    package var keyringPauseFactor: Int64 = 30
    /// How long the exit of the process waits for pending writes. Decision: a hanging disk must not keep the process
    /// alive.
    package var exitFlush = seconds(2)
    /// The age at which files of interrupted downloads are deleted. Seconds. Decision: as `resourceTimeout`.
    package var unfinishedFile = 7 * 86_400
    /// The age at which a download file is deleted whose process was killed before resume data was made for it.
    /// Seconds. Decision: much longer than the time between making a file and locking it.
    package var abandonedFile = 60

    package static func seconds(_ count: Int64) -> Int64 { count * 1_000_000_000 }
    package static func milliseconds(_ count: Int64) -> Int64 { count * 1_000_000 }
}
