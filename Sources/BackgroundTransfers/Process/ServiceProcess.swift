internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingStorage
package import LoadingTransport

/// A process that runs the service of a place: it accepts connections, and ends when nothing is left to do.
///
/// Confined to its loop, except for `run`.
package final class ServiceProcess {
    private let loop: EventLoop
    private let place: ServicePlace
    private var listener: ServiceListener
    private var registration: LoopRegistration?
    /// The file of the socket, if it is the service's own.
    private var socketFile: ServiceListener.File?
    private let ownership: ServiceOwnership
    private var host: (any ServiceHost)?
    private var isEnding = false
    private let idleTimer = LoopTimer()
    private let acceptTimer = LoopTimer()
    private let endTimer = LoopTimer()
    /// How long it waits for the next program before it ends, in nanoseconds.
    private let idleTime: Int64

    /// Seconds, instead of `TimeLimits.serviceIdle`.
    private static let idleVariable = "URLSESSION_SERVICE_IDLE"

    /// - Parameters:
    ///   - loop: The loop of the service.
    ///   - becameIdle: To be called on the loop when `isIdle` may have become true.
    package typealias MakeHost =
        @Sendable (_ loop: EventLoop, _ place: ServicePlace, _ becameIdle: @escaping () -> Void) -> any ServiceHost

    /// The exit status of the process.
    private enum Exit: Int32 {
        case done = 0
        /// A folder or the socket cannot be used. (EX_UNAVAILABLE)
        case failure = 69
        /// Another service runs. (EX_TEMPFAIL)
        case notNeeded = 75
    }

    // MARK: The main thread

    /// Runs the service until it ends. Called on the main thread, before any other thread exists.
    ///
    /// - Parameter listener: The socket; nil to make one. The process ends at once if another service runs.
    package static func run(
        _ listener: ServiceListener?, at place: ServicePlace = ServicePlace(), _ makeHost: @escaping MakeHost
    ) -> Never {
        cll_name_thread(ServiceProgram.name)
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&signals, signal) }
        // For all threads. This one takes the signals.
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        let (found, ownership) = takePlace(place, listener)
        let loop = EventLoops.assign()
        let running = LoopBox(Running(), on: loop)
        loop.post {
            let process = ServiceProcess(on: loop, place, found, ownership)
            running.value.process = process
            process.start(makeHost)
        }
        while true {
            var signal: Int32 = 0
            if sigwait(&signals, &signal) == 0 { loop.post { running.value.process?.endInOrder() } }
        }
    }

    /// The process, from its start on. Confined to the loop.
    private final class Running {
        var process: ServiceProcess?
    }

    private static func takePlace(
        _ place: ServicePlace, _ listener: ServiceListener?
    ) -> (ServiceListener, ServiceOwnership) {
        do {
            try place.make()
            let listener = try listener ?? newListener(at: place)
            // An own one may listen through a descriptor, which is not the path that others need.
            let path = listener.isOfSystemd ? listener.path : nil
            guard let ownership = ServiceOwnership.take(at: place.ownerPath, socketPath: path ?? place.socketPath)
            else { end(.notNeeded) }
            return (listener, ownership)
        } catch {
            StandardError.write("\(error)")
            end(.failure)
        }
    }

    private static func newListener(at place: ServicePlace) throws(ServiceStartFailure) -> ServiceListener {
        let lock = try ServiceLock.wait(at: place.lockPath)
        defer { lock.release() }
        if try ServiceStart.connectIfRunning(to: place) != nil { end(.notNeeded) }
        return try ServiceListener.make(at: place.socketPath)
    }

    /// Without `exit`, which would remove the parts of downloads (`UnfinishedFiles`).
    private static func end(_ status: Exit) -> Never { _exit(status.rawValue) }

    // MARK: Accepting

    private init(on loop: EventLoop, _ place: ServicePlace, _ listener: ServiceListener, _ ownership: ServiceOwnership)
    {
        self.loop = loop
        self.place = place
        self.listener = listener
        self.ownership = ownership
        let seconds = StorageDirectory.variable(Self.idleVariable).flatMap { Double($0) }
        idleTime = seconds.map { Int64(max(0, min($0, 1e6)) * 1e9) } ?? loop.limits.serviceIdle
    }

    private func start(_ makeHost: MakeHost) {
        let host = makeHost(loop, place) { [weak self] in self?.armIdleTimer() }
        self.host = host
        host.start()
        listen()
        armIdleTimer()
    }

    private func listen() {
        if !listener.isOfSystemd { socketFile = ServiceListener.File(at: place.socketPath) }
        registration = loop.register(listener.descriptor, self)
        // Without memory for it, no connection can be accepted. Clients start another service.
        if registration == nil { endInOrder() }
    }

    /// Returns the number of accepted connections.
    @discardableResult
    private func acceptAll() -> Int {
        var count = 0
        while let accepted = listener.accept() {
            switch accepted {
            case .success(let descriptor):
                count += 1
                host?.accept(descriptor)
            case .failure:
                // No descriptor is free. One that becomes free sends no notification.
                loop.arm(acceptTimer, at: loop.now + loop.limits.descriptorRetry, for: self)
                return count
            }
        }
        return count
    }

    // MARK: The end

    private func armIdleTimer() {
        if !isEnding { loop.arm(idleTimer, at: loop.now + idleTime, for: self) }
    }

    private func endIfIdle() {
        guard !isEnding, let host else { return }
        acceptAll()
        guard host.isIdle else { return }
        if listener.isOfSystemd { return endInOrder() }
        let lock: ServiceLock
        do throws(ServiceStartFailure) {
            // A holder is about to connect.
            guard let free = try ServiceLock.ifFree(at: place.lockPath) else { return armIdleTimer() }
            lock = free
        } catch .socket(_, ENOENT) {
            // The runtime folder was removed, as at the end of a login: no program can connect.
            return stop()
        } catch {
            return armIdleTimer()
        }
        if isSocketOwn {
            // From here on a client cannot connect. It waits for the lock, then it starts another service.
            unlink(place.socketPath)
            shutdown(listener.descriptor, Int32(SHUT_RDWR))
            if acceptAll() > 0 { return listenAgain(lock) }
        }
        // The lock is held until the process has ended.
        stop()
    }

    private var isSocketOwn: Bool { socketFile != nil && socketFile == ServiceListener.File(at: place.socketPath) }

    /// A client has connected before the socket was removed.
    private func listenAgain(_ lock: ServiceLock) {
        defer { lock.release() }
        if let registration { loop.unregister(listener.descriptor, registration) }
        close(listener.descriptor)
        do throws(ServiceStartFailure) {
            listener = try ServiceListener.make(at: place.socketPath)
        } catch {
            // The accepted connections end, and their clients start another service.
            registration = nil
            return stop()
        }
        listen()
    }

    /// Ends because of a signal, whatever is left to do: a later service continues.
    private func endInOrder() {
        if isEnding { return }
        if let lock = try? ServiceLock.ifFree(at: place.lockPath) {
            if isSocketOwn { unlink(place.socketPath) }
            lock.release()
        }
        stop()
    }

    private func stop() {
        isEnding = true
        loop.disarm(idleTimer)
        loop.disarm(acceptTimer)
        loop.arm(endTimer, at: loop.now + loop.limits.serviceStart / 2, for: self)
        host?.stop { Self.end(.done) }
    }
}

extension ServiceProcess: ReadinessHandler {
    package func becameReady(_ readiness: Readiness) {
        if !isEnding { acceptAll() }
    }
}

extension ServiceProcess: LoopTimerTarget {
    package func timerFired(_ timer: LoopTimer) {
        if timer === idleTimer {
            endIfIdle()
        } else if timer === acceptTimer {
            acceptAll()
        } else {
            // The disk does not get on. A killed service loses nothing either.
            Self.end(.failure)
        }
    }
}

/// What a service process runs. Confined to the loop.
package protocol ServiceHost: AnyObject {
    /// Called once, before connections are accepted.
    func start()
    /// Takes a connection of the same user, and ownership of its descriptor.
    func accept(_ descriptor: Int32)
    /// Whether nothing is connected, runs, or waits.
    var isIdle: Bool { get }
    /// Stops what runs, and calls back when everything is in the journal. The process ends then.
    func stop(_ done: @escaping () -> Void)
}

extension TransferService: ServiceHost {}
