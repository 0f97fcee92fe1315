package import FoundationEssentials
package import LoadingConnections
package import LoadingEvents
internal import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// The load of a stream task in the engine: a connection of its own, driven by `StreamMachine`. Confined to its loop.
/// Reports the end to its client exactly once, unless the connection was detached.
///
/// Beyond `StreamMachine.readAhead`, only the bytes that a read requests are read from the connection. The peer then
/// has to wait.
package final class StreamLoad: Load, LoopTimerTarget, StreamConnectionOwner, RouteSelectorOwner {
    private let environment: LoadingEnvironment
    let log: EventLog?
    private let limits: Limits
    /// Retained until the end.
    private(set) var client: (any StreamClient)?
    private let key: ConnectionKey
    /// Set if there are several routes to the host.
    private var routeSelector: RouteSelector?
    private var search: ProxySearch?
    private var tunnelAuthentication: TunnelAuthentication?
    private var connection: StreamConnection?
    /// How a proxy is used; nil without a proxy.
    private var proxyMode: ProxyMode?
    private var connectivity = ConnectivityStage()
    private var machine: StreamMachine
    private var buffer: StreamBuffer
    private var readers: [Int: ReadReply] = [:]
    private var writers: [Int: (data: Data, reply: WriteReply)] = [:]
    private var lastOperation = 0

    private var state = State.waitingToStart
    private var isSuspended = false
    /// `start` was called while the load was suspended.
    private var startsOnResume = false
    private var hasOpened = false
    /// Set while the machine's actions are carried out, which may add more actions.
    private var isPerforming = false
    private var due: [StreamMachine.Action] = []
    private var routes: RouteWait?

    private let timer = LoopTimer()
    private var clock = LoadClock()

    package struct Limits {
        /// The idle timeout in seconds, while the connection is made or TLS is negotiated. Reads and writes have their
        /// own (C-6).
        package var idle: Double
        /// The total timeout in seconds, from start to end (C-8).
        package var total: Double
        package var waitsForConnectivity: Bool

        package init(idle: Double, total: Double, waitsForConnectivity: Bool) {
            self.idle = idle
            self.total = total
            self.waitsForConnectivity = waitsForConnectivity
        }
    }

    /// The result of a read, and whether the stream ends after it.
    package typealias ReadReply = (Result<(data: Data, isAtEnd: Bool), LoadError>) -> Void
    package typealias WriteReply = (LoadError?) -> Void

    private enum State {
        case waitingToStart
        case waitingForConnectivity
        /// The connection is being made or is open.
        case connected
        case ended
    }

    /// How many bytes one connection may read in a turn before other connections get their turn.
    private static let readBudget = 64 * 1024
    /// The same for writing. The last write of a turn may exceed it, by less than as much again.
    private static let writeBudget = 256 * 1024

    /// A stream on a new connection to a host.
    package init(
        to key: ConnectionKey, in environment: LoadingEnvironment, limits: Limits, log: EventLog?,
        client: any StreamClient
    ) {
        self.key = key
        self.environment = environment
        self.limits = limits
        self.client = client
        self.log = log
        machine = StreamMachine()
        buffer = StreamBuffer()
    }

    /// A stream on a connection that carried HTTP before.
    package init(
        on detached: DetachedConnection, in environment: LoadingEnvironment, limits: Limits, log: EventLog?,
        client: any StreamClient
    ) {
        key = detached.key
        self.environment = environment
        self.limits = limits
        self.client = client
        self.log = log
        machine = StreamMachine(buffered: detached.rest.count, isSecure: detached.key.isSecure)
        buffer = StreamBuffer(detached.rest)
        connection = StreamConnection(detached, in: environment.pool, owner: self)
    }

    // MARK: From the client

    package func start(_ reason: LoadEvent.FetchReason) {
        environment.loop.checkConfinement(of: "A load")
        guard case .waitingToStart = state else { return }
        if isSuspended {
            startsOnResume = true
            return
        }
        clock.begin(at: environment.loop.now)
        if connection != nil {
            state = .connected
            hasOpened = true
            watchRoutes()
            proceed()
        } else {
            log?.record(.fetchStarted(reason))
            connect()
        }
    }

    package func suspend() {
        environment.loop.checkConfinement(of: "A load")
        guard !isSuspended, !hasEnded else { return }
        isSuspended = true
        let now = environment.loop.now
        clock.suspend(at: now)
        environment.loop.disarm(timer)
        routeSelector?.stopTimer()
        machine.suspend(at: now)
    }

    package func resume() {
        environment.loop.checkConfinement(of: "A load")
        guard isSuspended, !hasEnded else { return }
        isSuspended = false
        clock.resume(at: environment.loop.now)
        perform(machine.resume(at: clock.lastActivity))
        if machine.isConnecting { routeSelector?.startTimer() }
        guard startsOnResume else { return proceed() }
        startsOnResume = false
        start(.first)
    }

    package func cancel(_ error: LoadError) {
        environment.loop.checkConfinement(of: "A load")
        perform(machine.fail(error))
    }

    /// Reads at least `least` and at most `most` bytes within `timeout` nanoseconds.
    package func read(least: Int, most: Int, timeout: Int64?, reply: @escaping ReadReply) {
        environment.loop.checkConfinement(of: "A load")
        lastOperation += 1
        readers[lastOperation] = reply
        perform(machine.read(lastOperation, least: least, most: most, timeout: timeout, at: environment.loop.now))
        proceed()
    }

    package func write(_ data: Data, timeout: Int64?, reply: @escaping WriteReply) {
        environment.loop.checkConfinement(of: "A load")
        lastOperation += 1
        writers[lastOperation] = (data, reply)
        perform(machine.write(lastOperation, count: data.count, timeout: timeout, at: environment.loop.now))
        proceed()
    }

    package func closeReading() { ask { $0.closeReading(at: $1) } }
    package func closeWriting() { ask { $0.closeWriting(at: $1) } }
    package func secure() { ask { $0.secure(at: $1) } }
    package func capture() { ask { $0.capture(at: $1) } }

    private func ask(_ step: (inout StreamMachine, Int64) -> [StreamMachine.Action]) {
        environment.loop.checkConfinement(of: "A load")
        perform(step(&machine, environment.loop.now))
        proceed()
    }

    package func answerChallenge(_ answer: AuthenticationAnswer) {
        environment.loop.checkConfinement(of: "A load")
        if !hasEnded { tunnelAuthentication?.take(answer) }
    }

    // MARK: The connection

    package var hasEnded: Bool { if case .ended = state { true } else { false } }

    private func connect() {
        state = .connected
        clock.noteActivity(at: environment.loop.now)
        if limits.waitsForConnectivity { connectivity.begin(on: environment.loop) }
        let destination = ProxyDestination(traffic: .other, host: key.host, port: key.port)
        armTimer()
        // Checked before a PAC script runs.
        if key.service.requiresDNSSEC, NameResolver.needsNameServer(key.host) {
            return perform(machine.fail(.cannotFindHost))
        }
        guard let proxies = environment.proxies else { return connect(through: .direct) }
        search = proxies.find(destination, asking: ProxyQuery(destination)) { [weak self] in
            self?.connect(by: $0, to: destination)
        }
    }

    private func connect(by routeList: ProxyRouteList, to destination: ProxyDestination) {
        search = nil
        clock.noteActivity(at: environment.loop.now)
        routeSelector = RouteSelector(
            routeList.routes, to: destination, in: environment.proxies, idleTimeout: limits.idle)
        routeSelector?.owner = self
        guard let route = routeSelector?.current ?? routeList.routes.first else {
            // A proxy is required, and it is not usable.
            return perform(machine.fail(routeList.failure(.tunnel).loadError))
        }
        connect(through: route)
    }

    private func connect(through route: ProxyRoute) {
        proxyMode = if case .through(let proxy) = route { .tunnel(proxy) } else { nil }
        let target = ConnectionKey(
            isSecure: key.isSecure, host: key.host, port: key.port, service: key.service,
            proxyMode: proxyMode)
        let connection = StreamConnection(to: target, in: environment.pool, owner: self)
        self.connection = connection
        connection.connect()
        if !isSuspended { routeSelector?.startTimer() }
    }

    var pendingPhase: PendingPhase? { connection?.pendingPhase }

    func useNextRoute() {
        clock.noteActivity(at: environment.loop.now)
        connection?.close()
        if let route = routeSelector?.current { connect(through: route) }
    }

    package func connectionOpened() {
        clock.noteActivity(at: environment.loop.now)
        traceTrust()
        routeSelector?.succeeded()
        hasOpened = true
        watchRoutes()
        perform(machine.connected(at: clock.lastActivity))
        proceed()
    }

    package func connectionSecured() {
        clock.noteActivity(at: environment.loop.now)
        traceTrust()
        perform(machine.secured(at: clock.lastActivity))
        proceed()
    }

    package func connectionFailed(_ failure: ConnectionFailure) {
        traceTrust()
        if !hasOpened, routeSelector?.failed(failure) == true { return useNextRoute() }
        let meaning = ConnectivityStage.meaning(of: failure)
        guard limits.waitsForConnectivity, !hasOpened, connectivity.shouldWait(after: meaning) else {
            return perform(machine.fail(meaning.error))
        }
        connection?.close()
        connection = nil
        state = .waitingForConnectivity
        if connectivity.notifiesClient() { client?.loadIsWaitingForConnectivity(self) }
        connectivity.waitForRoute(on: environment.loop) { [weak self] in
            guard let self, case .waitingForConnectivity = self.state else { return }
            self.connect()
        }
    }

    private func traceTrust() {
        if let result = connection?.trustResult { log?.traceOnly(.serverTrust(result)) }
    }

    package func connectionReceived(challenge question: ConnectionChallenge) -> Bool {
        guard case .tunnel(let challenge) = question.subject else {
            return client?.load(self, asks: question) ?? false
        }
        return tunnelAuthentication?.takes(question, about: challenge) ?? false
    }

    package var proxyAuthorizer: (any ProxyAuthorizer)? {
        let made = tunnelAuthentication ?? TunnelAuthentication(for: self, in: environment)
        tunnelAuthentication = made
        return made
    }

    package func connectionIsActive() {
        clock.noteActivity(at: environment.loop.now)
        if !hasOpened, !isSuspended { routeSelector?.startTimer() }
    }

    package func connectionIsReady() { proceed() }

    // MARK: Bytes

    /// Writes and reads as far as the machine requires it and the connection allows it.
    private func proceed() {
        guard !isPerforming, !hasEnded else { return }
        var budget = Self.writeBudget
        write(within: &budget)
        if !hasEnded { read() }
        // TLS may have had to read before it could write.
        if !hasEnded { write(within: &budget) }
        if !hasEnded { armTimer() }
    }

    private func write(within budget: inout Int) {
        while let next = machine.nextWrite, let data = writers[next.id]?.data, let connection {
            guard budget > 0 else { return connection.callAgain() }
            let written = data.suffix(next.rest).withUnsafeBytes { bytes in
                // Never fewer: TLS must be offered all of a record again of which the socket has taken a part.
                connection.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.writeBudget)))
            }
            switch written {
            case .bytes(0), .wouldBlock: return
            case .bytes(let count):
                budget -= count
                client?.load(self, didWrite: count)
                perform(machine.wrote(count, at: environment.loop.now))
            case .failed(let failure):
                return perform(machine.writingBroke(LoadError(failure), at: environment.loop.now))
            }
        }
    }

    private func read() {
        var budget = Self.readBudget
        while let connection {
            let wanted = machine.dropsBytes ? Self.readBudget : machine.bytesWanted
            guard wanted > 0, connection.mayHaveMore else { return }
            guard budget > 0 else { return connection.callAgain() }
            let scratch = environment.loop.scratch
            let room = UnsafeMutableRawBufferPointer(rebasing: scratch.prefix(wanted))
            let now = environment.loop.now
            switch connection.read(into: room) {
            case .bytes(let count):
                budget -= count
                if !machine.dropsBytes { buffer.append(UnsafeRawBufferPointer(rebasing: room.prefix(count))) }
                perform(machine.received(count, at: now))
            case .wouldBlock: return
            case .end: perform(machine.receivedEnd(at: now))
            // The data may be truncated: TLS announces its end with close_notify.
            case .truncated: perform(machine.broke(.networkConnectionLost, at: now))
            case .failed(let failure): perform(machine.broke(LoadError(failure), at: now))
            }
        }
    }

    // MARK: Actions of the machine

    private func perform(_ actions: [StreamMachine.Action]) {
        due += actions
        guard !isPerforming else { return }
        isPerforming = true
        var next = 0
        while next < due.count {
            perform(due[next])
            next += 1
        }
        due = []
        isPerforming = false
    }

    private func perform(_ action: StreamMachine.Action) {
        switch action {
        case .completeRead(let id, let count, let isAtEnd):
            let data = buffer.take(count)
            client?.load(self, didRead: count)
            readers.removeValue(forKey: id)?(.success((data, isAtEnd)))
        case .failRead(let id, let error): readers.removeValue(forKey: id)?(.failure(error))
        case .completeWrite(let id): writers.removeValue(forKey: id)?.reply(nil)
        case .failWrite(let id, let error): writers.removeValue(forKey: id)?.reply(error)
        case .closeReading: buffer.removeAll()
        case .closeWriting: connection?.closeWriting()
        case .reportReadClosed: client?.loadHasClosedReading(self)
        case .reportWriteClosed: client?.loadHasClosedWriting(self)
        case .secure: secureConnection()
        case .handOver: handOver()
        case .end(let error): end(error)
        }
    }

    private func secureConnection() {
        clock.noteActivity(at: environment.loop.now)
        connection?.secure()
    }

    private func handOver() {
        guard let stream = connection?.detachConnection(), let client else { return }
        connection = nil
        let captured = CapturedConnection(stream, rest: buffer.take(buffer.count))
        releaseParts()
        log?.record(.ended)
        client.load(self, hasCaptured: captured)
    }

    // MARK: Better routes

    /// Notifies the client when the machine would now use another route to the peer than the connection's.
    private func watchRoutes() {
        guard client?.wantsBetterRoutes == true else { return }
        let watch = RouteWatch.watch(for: environment.loop)
        routes = watch.wait(since: watch.mark(on: environment.loop), on: environment.loop) { [weak self] in
            guard let self, !self.hasEnded else { return }
            if self.connection?.hasBetterRoute == true { self.client?.loadHasBetterRoute(self) }
            self.watchRoutes()
        }
    }

    // MARK: Time

    /// The idle time runs while the load waits for the network to connect or to negotiate TLS.
    private var idleTimeIsRunning: Bool {
        guard case .connected = state, machine.isConnecting else { return false }
        return connection?.isAsking == false
    }

    private func armTimer() {
        guard !isSuspended, !hasEnded else { return }
        // A challenge may be answered meanwhile, so the timer fires from time to time.
        var deadline = clock.nextCheck(
            at: environment.loop.now, idle: machine.isConnecting ? limits.idle : nil, total: limits.total,
            idleTimeRuns: idleTimeIsRunning,
            shortest: environment.loop.limits.shortestTimerPeriod)
        if let own = machine.deadline { deadline = min(deadline, own) }
        environment.loop.arm(timer, at: deadline, for: self)
    }

    package func timerFired(_ timer: LoopTimer) {
        let now = environment.loop.now
        if idleTimeIsRunning, let connection { clock.noteArrival(at: connection.lastArrival) }
        if clock.isOver(at: now, idle: idleTimeIsRunning ? limits.idle : nil, total: limits.total) {
            return perform(machine.fail(timeoutError))
        }
        perform(machine.timePassed(at: now))
        proceed()
    }

    /// The error of a timeout. A silent proxy has a different error from a silent host (PROXY-10).
    private var timeoutError: LoadError {
        guard let proxyMode, pendingPhase != nil else { return .timedOut }
        return proxyMode.timeoutError
    }

    // MARK: The end

    private func end(_ error: LoadError?) {
        guard let client else { return }
        if error == nil, let connection, !machine.hasEnded || connection.isClosingWriting {
            connection.closeAfterAcknowledgement()
        }
        releaseParts()
        if let error { log?.record(.failed(code: error.code, decoded: 0)) }
        log?.record(.ended)
        client.load(self, didEndWith: error, body: .nothing)
    }

    private func releaseParts() {
        state = .ended
        client = nil
        environment.loop.disarm(timer)
        routeSelector?.stopTimer()
        connectivity.end()
        search?.cancel()
        search = nil
        routes?.end()
        routes = nil
        connection?.close()
        connection = nil
    }
}

extension StreamLoad: TunnelClient {
    var loadClient: (any LoadClient)? { client }

    /// A stream has no responses.
    func response(_ head: ResponseHead) -> LoadResponse? { nil }
}

/// The client of a stream: a task, as the engine sees it. Called on the load's loop; must not block.
package protocol StreamClient: LoadClient {
    /// Whether the client is notified of better routes.
    var wantsBetterRoutes: Bool { get }
    /// Reads have consumed this many bytes; for `didWrite`, the kernel has accepted them.
    func load(_ load: StreamLoad, didRead count: Int)
    func load(_ load: StreamLoad, didWrite count: Int)
    func loadHasClosedReading(_ load: StreamLoad)
    func loadHasClosedWriting(_ load: StreamLoad)
    func loadHasBetterRoute(_ load: StreamLoad)
    /// The connection belongs to the client, and no more callbacks follow.
    func load(_ load: StreamLoad, hasCaptured captured: CapturedConnection)
}
