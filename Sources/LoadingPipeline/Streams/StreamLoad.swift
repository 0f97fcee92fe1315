package import FoundationEssentials
package import LoadingConnections
package import LoadingEvents
internal import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// The life of a stream task in the engine: a connection of its own, driven as `StreamMachine` says. Confined to its
/// loop; tells its client the end exactly once, unless the connection was given away.
///
/// Beyond `StreamMachine.readAhead`, only what a read asked for is read; then the peer has to wait.
package final class StreamLoad: Load, LoopTimerTarget, StreamConnectionOwner {
    private let environment: LoadingEnvironment
    let log: EventLog?
    private let limits: Limits
    /// Held until the end.
    private(set) var client: (any StreamClient)?
    private let origin: Origin
    /// Where there are several to the host.
    private var ways: RouteSelector?
    private var search: ProxySearch?
    private var tunnelAuthentication: TunnelAuthentication?
    private var connection: StreamConnection?
    /// How a proxy comes into it, if one does.
    private var passage: ProxyPassage?
    private var connectivity = ConnectivityStage()
    private var machine: StreamMachine
    private var buffer: StreamBuffer
    private var readers: [Int: ReadReply] = [:]
    private var writers: [Int: (data: Data, reply: WriteReply)] = [:]
    private var lastOperation = 0

    private var state = State.waitingToStart
    private var isSuspended = false
    /// It was to start while it was suspended.
    private var startsOnResume = false
    private var hasOpened = false
    /// Set while the machine's wishes are being carried out, which may bring about more of them.
    private var isPerforming = false
    private var due: [StreamMachine.Action] = []
    private var routes: RouteWait?

    private let timer = LoopTimer()
    private var clock = LoadClock()

    package struct Limits {
        /// Seconds of silence while the connection is made or TLS is put over it; reads and writes have their own (C-6).
        package var idle: Double
        /// Seconds from start to end (C-8).
        package var total: Double
        package var waitsForConnectivity: Bool

        package init(idle: Double, total: Double, waitsForConnectivity: Bool) {
            self.idle = idle
            self.total = total
            self.waitsForConnectivity = waitsForConnectivity
        }
    }

    /// What a read brought, and whether nothing comes after it.
    package typealias ReadReply = (Result<(data: Data, isAtEnd: Bool), LoadError>) -> Void
    package typealias WriteReply = (LoadError?) -> Void

    private enum State {
        case waitingToStart
        case waitingForConnectivity
        /// The connection is being made, and then is there.
        case connected
        case ended
    }

    /// Bytes of one connection that a turn reads before the others have theirs.
    private static let readBudget = 64 * 1024

    /// A connection to a host.
    package init(
        to origin: Origin, in environment: LoadingEnvironment, limits: Limits, log: EventLog?, client: any StreamClient
    ) {
        self.origin = origin
        self.environment = environment
        self.limits = limits
        self.client = client
        self.log = log
        machine = StreamMachine()
        buffer = StreamBuffer()
    }

    /// One that carried HTTP until now.
    package init(
        on handed: HandedConnection, in environment: LoadingEnvironment, limits: Limits, log: EventLog?,
        client: any StreamClient
    ) {
        origin = handed.origin
        self.environment = environment
        self.limits = limits
        self.client = client
        self.log = log
        machine = StreamMachine(buffered: handed.rest.count)
        buffer = StreamBuffer(handed.rest)
        connection = StreamConnection(handed, in: environment.pool, owner: self)
    }

    // MARK: From the client

    package func start(_ reason: LoadEvent.FetchReason) {
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
            goOn()
        } else {
            record(.fetchStarted(reason))
            connect()
        }
    }

    /// Stops reading, writing and the clocks (T-2).
    package func suspend() {
        guard !isSuspended, !hasEnded else { return }
        isSuspended = true
        let now = environment.loop.now
        clock.suspend(at: now)
        environment.loop.disarm(timer)
        ways?.rest()
        machine.suspend(at: now)
    }

    package func resume() {
        guard isSuspended, !hasEnded else { return }
        isSuspended = false
        clock.resume(at: environment.loop.now)
        perform(machine.resume(at: clock.lastActivity))
        if machine.isConnecting { ways?.begins() }
        guard startsOnResume else { return goOn() }
        startsOnResume = false
        start(.first)
    }

    package func cancel(_ error: LoadError) { perform(machine.fail(error)) }

    /// A read of at least and at most so many bytes, in so many nanoseconds.
    package func read(least: Int, most: Int, timeout: Int64?, reply: @escaping ReadReply) {
        lastOperation += 1
        readers[lastOperation] = reply
        perform(machine.read(lastOperation, least: least, most: most, timeout: timeout, at: environment.loop.now))
        goOn()
    }

    package func write(_ data: Data, timeout: Int64?, reply: @escaping WriteReply) {
        lastOperation += 1
        writers[lastOperation] = (data, reply)
        perform(machine.write(lastOperation, count: data.count, timeout: timeout, at: environment.loop.now))
        goOn()
    }

    package func closeReading() { ask { $0.closeReading(at: $1) } }
    package func closeWriting() { ask { $0.closeWriting(at: $1) } }
    package func secure() { ask { $0.secure(at: $1) } }
    package func capture() { ask { $0.capture(at: $1) } }

    private func ask(_ step: (inout StreamMachine, Int64) -> [StreamMachine.Action]) {
        perform(step(&machine, environment.loop.now))
        goOn()
    }

    // A stream has neither line to stand in nor responses to answer.
    package func setPriority(_ priority: Float) {}
    package func abandon() {}
    package func handOver(to client: any LoadClient) {}
    package func resumeReading() {}
    package func answerResponse(_ destination: BodyDestination?) {}
    package func answerRedirect(_ next: LoadRequest?) {}
    package var resumePointUnderWay: DownloadResumePoint? { nil }
    package func answerChallenge(_ answer: AuthenticationAnswer) {
        if !hasEnded { tunnelAuthentication?.take(answer) }
    }

    // MARK: The connection

    package var hasEnded: Bool { if case .ended = state { true } else { false } }

    private func connect() {
        state = .connected
        clock.noteActivity(at: environment.loop.now)
        if limits.waitsForConnectivity { connectivity.begin(on: environment.loop) }
        let destination = ProxyDestination(traffic: .other, host: origin.host, port: origin.port)
        armTimer()
        // Before a script asks for it.
        if origin.service.requiresDNSSEC, !NameResolver.needsNoNameServer(origin.host) {
            return perform(machine.fail(.cannotFindHost))
        }
        guard let proxies = environment.proxies else { return go(.direct) }
        search = proxies.find(destination) { [weak self] in self?.go($0, to: destination) }
    }

    private func go(_ route: ProxyRouteList, to destination: ProxyDestination) {
        search = nil
        clock.noteActivity(at: environment.loop.now)
        ways = RouteSelector(route.routes, to: destination, in: environment.proxies, idleTimeout: limits.idle)
        ways?.onSilence = { [weak self] in self?.wayIsSilent() }
        guard let way = ways?.current ?? route.routes.first else {
            // A proxy is wanted, and there can be no such proxy.
            return perform(machine.fail(route.failure(.tunnel).loadError))
        }
        go(way)
    }

    private func go(_ way: ProxyRoute) {
        passage = if case .through(let proxy) = way { .tunnel(proxy) } else { nil }
        let target = Origin(
            isSecure: origin.isSecure, host: origin.host, port: origin.port, service: origin.service, passage: passage)
        let connection = StreamConnection(to: target, in: environment.pool, owner: self)
        self.connection = connection
        connection.connect()
        if !isSuspended { ways?.begins() }
    }

    private func wayIsSilent() {
        guard !hasEnded, !hasOpened, let connection else { return }
        // At a question.
        guard let step = connection.awaits else { return ways?.goesOn() ?? () }
        if ways?.wasSilent(at: step) == true { goNextWay() }
    }

    private func goNextWay() {
        clock.noteActivity(at: environment.loop.now)
        connection?.close()
        if let way = ways?.current { go(way) }
    }

    package func connectionOpened() {
        clock.noteActivity(at: environment.loop.now)
        ways?.succeeded()
        hasOpened = true
        watchRoutes()
        perform(machine.connected(at: clock.lastActivity))
        goOn()
    }

    package func connectionSecured() {
        clock.noteActivity(at: environment.loop.now)
        perform(machine.secured(at: clock.lastActivity))
        goOn()
    }

    package func connectionFailed(_ failure: ConnectionFailure) {
        if !hasOpened, ways?.failed(failure) == true { return goNextWay() }
        let meaning = ConnectivityStage.meaning(of: failure)
        guard limits.waitsForConnectivity, !hasOpened, connectivity.shouldWait(after: meaning) else {
            return perform(machine.fail(meaning.error))
        }
        connection?.close()
        connection = nil
        state = .waitingForConnectivity
        if connectivity.tellsClient() { client?.loadIsWaitingForConnectivity(self) }
        connectivity.waitForRoute(on: environment.loop) { [weak self] in
            guard let self, case .waitingForConnectivity = self.state else { return }
            self.connect()
        }
    }

    package func connectionAsks(_ question: SecurityQuestion) -> Bool {
        guard case .tunnel(let challenge) = question.subject else {
            return client?.load(self, asks: question) ?? false
        }
        return tunnelAuthentication?.takes(question, about: challenge) ?? false
    }

    package var tunnelSpeaker: (any TunnelSpeaker)? {
        let speaker = tunnelAuthentication ?? TunnelAuthentication(for: self, in: environment)
        tunnelAuthentication = speaker
        return speaker
    }

    package func connectionIsActive() {
        clock.noteActivity(at: environment.loop.now)
        if !hasOpened, !isSuspended { ways?.begins() }
    }

    package func connectionIsReady() { goOn() }

    // MARK: Bytes

    /// Writes and reads what the machine wants and the connection allows.
    private func goOn() {
        guard !isPerforming, !hasEnded else { return }
        write()
        if !hasEnded { read() }
        // TLS may have had to read before it could write.
        if !hasEnded { write() }
        if !hasEnded { armTimer() }
    }

    private func write() {
        while let next = machine.nextWrite, let data = writers[next.id]?.data, let connection {
            let written = data.suffix(next.rest).withUnsafeBytes { bytes in
                // A piece this long keeps one write well within the time of a turn.
                connection.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(1024 * 1024)))
            }
            switch written {
            case .bytes(0), .wouldBlock: return
            case .bytes(let count):
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
            // It may have been truncated: TLS announces its end.
            case .truncated: perform(machine.broke(.networkConnectionLost, at: now))
            case .failed(let failure): perform(machine.broke(LoadError(failure), at: now))
            }
        }
    }

    // MARK: What the machine wants

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
        case .tellReadClosed: client?.loadHasClosedReading(self)
        case .tellWriteClosed: client?.loadHasClosedWriting(self)
        case .secure: secureConnection()
        case .handOver: handOver()
        case .end(let error): end(error)
        }
    }

    private func secureConnection() {
        clock.noteActivity(at: environment.loop.now)
        guard let connection, !connection.isSecure else {
            // It is secure already, and that cannot be had twice.
            due += machine.secured(at: environment.loop.now)
            return
        }
        connection.secure()
    }

    private func handOver() {
        guard let stream = connection?.giveAway(), let client else { return }
        connection = nil
        let captured = CapturedConnection(stream, rest: buffer.take(buffer.count))
        letGo()
        record(.ended)
        client.load(self, hasGivenAway: captured)
    }

    // MARK: Better routes

    /// Has the client told when this machine would take another way to the peer than the connection goes.
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

    /// Silence counts while the network's part in making a connection, or in making it secure, is awaited.
    private var idleTimeIsRunning: Bool {
        guard case .connected = state, machine.isConnecting else { return false }
        return connection?.isAsking == false
    }

    private func armTimer() {
        guard !isSuspended, !hasEnded else { return }
        // A question may be answered meanwhile, so there is a look now and then.
        var deadline = clock.nextLook(
            at: environment.loop.now, idle: machine.isConnecting ? limits.idle : nil, total: limits.total,
            countsSilence: idleTimeIsRunning,
            shortest: environment.loop.limits.shortestTimerPeriod)
        if let own = machine.deadline { deadline = min(deadline, own) }
        environment.loop.arm(timer, at: deadline, for: self)
    }

    package func timerFired(_ timer: LoopTimer) {
        let now = environment.loop.now
        if clock.isOver(at: now, idle: idleTimeIsRunning ? limits.idle : nil, total: limits.total) {
            return perform(machine.fail(silence))
        }
        perform(machine.timePassed(at: now))
        goOn()
    }

    /// What it is that nothing has come in time: a proxy that has not done its part is told from the host (PROXY-10).
    private var silence: LoadError {
        guard let passage, connection?.awaits != nil else { return .timedOut }
        return passage.silence
    }

    // MARK: The end

    private func end(_ error: LoadError?) {
        guard let client else { return }
        if error == nil, !machine.hasEnded { connection?.closeWhenHeard() }
        letGo()
        if let error { record(.failed(code: error.code, decoded: 0)) }
        record(.ended)
        client.load(self, didEndWith: error, body: .nothing)
    }

    private func letGo() {
        state = .ended
        client = nil
        environment.loop.disarm(timer)
        ways?.rest()
        connectivity.end()
        search?.cancel()
        search = nil
        routes?.end()
        routes = nil
        connection?.close()
        connection = nil
    }

    private func record(_ kind: LoadEvent.Kind) {
        if let log { log.record(kind, at: EventLog.now) }
    }
}

extension StreamLoad: TunnelClient {
    var loadClient: (any LoadClient)? { client }

    /// A stream has none.
    func response(_ head: ResponseHead) -> LoadResponse? { nil }
}

/// The client of a stream: a task, as the engine sees it. Called on the load's loop; must not block.
package protocol StreamClient: LoadClient {
    /// Whether the client may want to hear of better routes.
    var wantsBetterRoutes: Bool { get }
    /// So many bytes have been taken by reads, or by the kernel.
    func load(_ load: StreamLoad, didRead count: Int)
    func load(_ load: StreamLoad, didWrite count: Int)
    func loadHasClosedReading(_ load: StreamLoad)
    func loadHasClosedWriting(_ load: StreamLoad)
    func loadHasBetterRoute(_ load: StreamLoad)
    /// The connection is the client's, and nothing more is told.
    func load(_ load: StreamLoad, hasGivenAway captured: CapturedConnection)
}
