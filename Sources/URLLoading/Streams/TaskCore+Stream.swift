internal import Foundation
internal import LoadingConnections
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// Stream tasks.
extension TaskCore {
    var isStream: Bool { if case .stream = kind { true } else { false } }

    /// Whether the task has a request. Streams to a host have none (T-12).
    var hasRequest: Bool { if case .stream(_?) = kind { false } else { true } }

    private var streamLimits: StreamLoad.Limits {
        let configuration = core.configuration
        return StreamLoad.Limits(
            idle: configuration.timeoutIntervalForRequest.timeout, total: configuration.totalTimeout,
            waitsForConnectivity: configuration.waitsForConnectivity)
    }

    // MARK: From the caller

    /// Performs an operation, on any thread. Operations before the stream exists are queued.
    func perform(_ operation: StreamOperation, for caller: TaskCaller = .handler) {
        let operation = operation.answered(by: answerer(for: caller))
        let work: @Sendable () -> Void = { [self] in
            if ForkedProcess.isCurrent {
                refuse(operation, .forkedProcess)
            } else if let stream {
                perform(operation, on: stream)
            } else if hasEnded {
                refuse(operation, endError ?? .streamIsClosed)
            } else {
                earlyOperations.append(operation)
            }
        }
        // All operations of a task run on one thread, also those before it is resumed.
        runOnLoop(for: caller, work)
    }

    // MARK: On the loop

    func beginStream(to endpoint: StreamEndpoint) {
        switch endpoint {
        case .host(let host, let port): beginStream(toHost: host, port: port)
        case .service: applyStateToResolution()
        }
    }

    private func resolve(_ service: ServiceEndpoint) {
        service.resolve(within: min(streamLimits.idle, streamLimits.total), on: loop) { [self] result in
            switch result {
            case .success(let found):
                // The name is that of the certificate, if the stream uses TLS. Its addresses came with the service.
                // Anyone in the local network publishes services, and may say where names of `.local` are, but not
                // where other hosts of the session are.
                if let key = try? StreamEndpoint.connectionKey(host: found.host, port: Int(found.port), .ordinary),
                    MulticastLookup.isResponsible(for: key.host)
                {
                    core.environment.pool.resolver.remember(found.addresses, of: key.host, on: loop)
                }
                beginStream(toHost: found.host, port: Int(found.port))
            case .failure(let failure): if load == nil { end(LoadError(failure), body: .nothing) }
            }
        }
    }

    /// Looks for the service of a stream that has none yet. Not while the task is suspended: then no time limit runs
    /// (T-2).
    func applyStateToResolution() {
        guard case .stream(.service(let service)?) = kind, load == nil, !hasEnded else { return }
        switch state {
        case .running: if !service.isResolving { resolve(service) }
        case .suspended: service.cancel()
        default: break
        }
    }

    /// Does not look for a service any more.
    func stopResolving() { if case .stream(.service(let service)?) = kind { service.cancel() } }

    private func beginStream(toHost host: String, port: Int) {
        guard !hasEnded, load == nil else { return }
        do throws(LoadError) {
            let key = try StreamEndpoint.connectionKey(host: host, port: port, core.configuration.networkService)
            begin(StreamLoad(to: key, in: core.environment, limits: streamLimits, log: log, client: self))
        } catch {
            end(error, body: .nothing)
        }
    }

    private func begin(_ stream: StreamLoad) {
        load = stream
        self.stream = stream
        if state == .suspended { stream.suspend() }
        stream.start(.first)
        let operations = earlyOperations
        earlyOperations = []
        for operation in operations { perform(operation, on: stream) }
    }

    private func perform(_ operation: StreamOperation, on stream: StreamLoad) {
        switch operation {
        case .read(let least, let most, let timeout, let handler):
            stream.read(least: least, most: most, timeout: timeout) { [self] outcome in
                switch outcome {
                case .success((let data, let isAtEnd)): handler(data.isEmpty && isAtEnd ? nil : data, isAtEnd, nil)
                case .failure(let error): handler(nil, false, shownError(error))
                }
            }
        case .write(let data, let timeout, let handler):
            stream.write(data, timeout: timeout) { [self] error in handler(error.map { shownError($0) }) }
        case .closeReading: stream.closeReading()
        case .closeWriting: stream.closeWriting()
        case .secure: stream.secure()
        case .capture: stream.capture()
        }
    }

    func refuseEarlyOperations(_ error: LoadError) {
        let operations = earlyOperations
        earlyOperations = []
        for operation in operations { refuse(operation, error) }
    }

    private func refuse(_ operation: StreamOperation, _ error: LoadError) {
        switch operation {
        case .read(_, _, _, let handler): handler(nil, false, shownError(error))
        case .write(_, _, let handler): handler(shownError(error))
        case .closeReading, .closeWriting, .secure, .capture: break
        }
    }

    /// Returns a function that calls a completion handler in order with the task's callbacks. The end of the task waits
    /// for it. After the end, and for a task that was not resumed, the handler is called without ordering.
    func answerer(for caller: TaskCaller) -> StreamOperation.Answerer {
        let isPromised = promiseAnswer()
        return { [self] call in answer(caller, isPromised, .call(call)) }
    }

    /// Calls a completion handler as `answerer` says, on the loop.
    func answer(_ caller: TaskCaller, _ isPromised: Bool, _ answer: consuming TaskAnswer) {
        if caller == .handler, !isPromised, !hasEnded, heldTask != nil {
            enqueue(.answer(answer))
        } else {
            deliver(answer, to: caller, isPromised: isPromised)
        }
    }

    // MARK: Becoming a stream

    /// Takes over the connection of a data task after its response head (T-45).
    func takeConnection(of other: TaskCore) {
        loop.post { [self] in
            isAwaitingLoad = false
            (log, fetches) = (other.log, other.fetches)
            // The other task may have been cancelled or timed out meanwhile.
            guard let load = other.load, !other.hasEnded else {
                return end(other.endError ?? .cancelled, body: .nothing)
            }
            other.load = nil
            other.detach()
            guard let handed = (load as? HTTPLoad)?.detachConnection() else {
                // There is no connection, or it is used otherwise.
                load.abandon()
                return end(.networkConnectionLost, body: .nothing)
            }
            if state == .canceling {
                handed.stream.close()
                return end(.cancelled, body: .nothing)
            }
            begin(
                StreamLoad(on: handed, in: core.environment, limits: streamLimits, log: log, client: self))
        }
    }
}

extension TaskCore: StreamClient {
    var wantsBetterRoutes: Bool { !delegates.lack(.streamTaskBetterRoute) }

    func load(_ load: StreamLoad, didRead count: Int) {
        bytesReceived.wrappingAdd(Int64(count), ordering: .sequentiallyConsistent)
        updateProgress()
    }

    func load(_ load: StreamLoad, didWrite count: Int) {
        bytesSent.wrappingAdd(Int64(count), ordering: .sequentiallyConsistent)
        updateProgress()
    }

    // Without a method for it the callers of `async` methods would wait for a queue that has nothing to do.
    func loadHasClosedReading(_ load: StreamLoad) {
        if !delegates.lack(.streamTaskReadClosed) { enqueue(.readClosed) }
    }
    func loadHasClosedWriting(_ load: StreamLoad) {
        if !delegates.lack(.streamTaskWriteClosed) { enqueue(.writeClosed) }
    }
    func loadHasBetterRoute(_ load: StreamLoad) { enqueue(.betterRoute) }

    func load(_ load: StreamLoad, hasCaptured captured: CapturedConnection) {
        enqueue(.captured(captured))
        self.load = nil
        lock.withLock { isSilent = true }
        detach()
    }
}

extension SessionCore {
    func streamTask(_ session: URLSession, to endpoint: StreamEndpoint) -> URLSessionStreamTask? {
        makeTask(session, .stream(endpoint), .withoutURL, .withoutURL, .delegate, delegate: nil) {
            URLSessionStreamTask(core: $0)
        }
    }

    /// Creates a stream task for the connection of a data task, also in an invalidated session.
    func streamTask(_ session: URLSession, takingOver task: TaskCore) -> URLSessionStreamTask {
        let core = replacement(session, of: task, kind: .stream(nil))
        let stream = URLSessionStreamTask(core: core)
        core.prepare(toReplace: task, as: stream)
        return stream
    }
}
