#if HTTP3
    internal import Glibc
    internal import LoadingEvents
    internal import LoadingProtocols
    internal import LoadingSemantics
    internal import LoadingTransport

    /// A connection that speaks HTTP/3 over QUIC: carries many exchanges at once, each as an `HTTPStream`. Confined to its
    /// loop; owned by the race that makes it, then by its pool.
    ///
    /// QUIC's own clockwork (what is lost, what is sent again, and how fast) is a deadline of the session's, which is one
    /// timer here. What a turn has asked for goes out together, in the next one.
    final class HTTP3Connection: MultiplexedConnection, AddressEntrant, DatagramSocketOwner, LoopTimerTarget {
        let home: OriginConnections
        let pool: ConnectionPool
        var guests: [OriginConnections] = []
        var isRetired = false
        let isAlternative: Bool
        let version = HTTPVersion.http3
        private var socket: DatagramSocket
        private lazy var session = makeSession()
        var streams: [Int64: HTTPStream] = [:]
        /// Given out, and not begun yet.
        private var reservedCount = 0
        /// What the socket did not take. Its memory is the session's until more is asked for.
        private var unsent: HTTP3Output?
        private var isHandlingReadiness = false
        private var isTurnPlanned = false
        /// Whether somebody who waits may have a stream now.
        private var hasRoomForMore = false
        /// Why the connection was given up, once it was.
        private(set) var loss: LoadError?

        /// Told when the handshake is through, or has failed; before anybody has looked at the certificates.
        private var opened: ((LoadError?) -> Void)?
        private var isHandshakeComplete = false
        /// The server's certificates in DER, the leaf first, once they are known.
        private(set) var certificates: [[UInt8]] = []
        private(set) var cipherSuite: UInt16?
        /// Whether the default evaluation trusts the server.
        private(set) var isTrusted = false

        private(set) var idleSince: Int64
        /// When something came last.
        private var lastHeard: Int64
        private let sessionTimer = LoopTimer()
        private let idleTimer = LoopTimer()

        /// CONN-19
        private static let idleLifetime: Int64 = 90_000_000_000
        /// After so long without a sign of life the peer is asked for one, beside the next request.
        private static let trustedSilence: Int64 = 10_000_000_000
        /// Bytes of one connection that a turn reads before the others have theirs. With more a client that keeps up would
        /// still be full in each turn, and what it does not take at once is copied twice.
        private static let readBudget = 256 * 1024
        /// Bytes that a turn sends before the others have theirs.
        private static let writeBudget = 1024 * 1024

        /// Begins with the handshake. `opened` is told once, never before this returns, unless the connection is closed
        /// before.
        init(
            to address: SocketAddress, isAlternative: Bool, home: OriginConnections, pool: ConnectionPool,
            opened: @escaping (LoadError?) -> Void
        ) throws(POSIXFailure) {
            self.home = home
            self.isAlternative = isAlternative
            self.pool = pool
            self.opened = opened
            idleSince = pool.loop.now
            lastHeard = pool.loop.now
            socket = try DatagramSocket(to: address, on: pool.loop)
            socket.owner = self
            planTurn()
        }

        private func makeSession() -> HTTP3Session {
            HTTP3Session(
                configuration: HTTP3Configuration(),
                serverName: SocketAddress(literal: home.origin.host, port: 0) == nil ? home.origin.host : nil,
                endpoints: HTTP3Endpoints(socket), resumption: nil,
                at: pool.loop.now, observer: self)
        }

        var isClosed: Bool { socket.isClosed }
        var isIdle: Bool { streams.isEmpty && reservedCount == 0 }

        var peer: ConnectedPeer? {
            guard let cipherSuite else { return nil }
            return ConnectedPeer(
                address: socket.remoteAddress, certificates: certificates,
                agreement: ServerTrustDecision.Agreement(version: TLSVersion.tls13.rawValue, cipherSuite: cipherSuite))
        }

        var localAddress: SocketAddress? { socket.localAddress }
        var remoteAddress: SocketAddress? { socket.remoteAddress }

        /// The connection goes on from another address of this machine's (RFC 9000 §9).
        func wasCutOff() {
            let before = socket
            guard !isClosed, opened == nil,
                let next = try? DatagramSocket(to: before.remoteAddress, on: pool.loop, owner: self)
            else { return lose(.networkConnectionLost(ENETDOWN)) }
            socket = next
            before.close()
            unsent = nil
            guard session.endpointsChanged(to: HTTP3Endpoints(next), at: pool.loop.now) else {
                return lose(.networkConnectionLost(ENETDOWN))
            }
            isTurnPlanned = false
            planTurn()
        }

        func facts(isReused: Bool) -> ConnectionFacts {
            ConnectionFacts(
                protocolName: "h3", isReused: isReused, isProxied: false, localAddress: socket.localAddress.description,
                localPort: Int(socket.localAddress.port), remoteAddress: socket.remoteAddress.description,
                remotePort: Int(socket.remoteAddress.port), tlsVersion: TLSVersion.tls13.rawValue,
                tlsCipherSuite: cipherSuite)
        }

        // MARK: Opening

        /// The handshake is through. Whoever races for the connection is told when the turn is over.
        func completedHandshake() { isHandshakeComplete = true }

        private func tellOpened() {
            guard isHandshakeComplete, let opened, !isClosed else { return }
            self.opened = nil
            opened(nil)
        }

        func presented(_ chain: [[UInt8]], cipherSuite: UInt16) {
            certificates = chain
            self.cipherSuite = cipherSuite
        }

        /// The server is trusted. From now on the connection is the pool's.
        func begin(isTrusted: Bool) {
            self.isTrusted = isTrusted
            session.trust()
            pool.loop.arm(idleTimer, at: pool.loop.now + Self.idleLifetime, for: self)
            planTurn()
        }

        /// The server is not trusted, and is told so.
        func reject() {
            session.reject(alert: 42)
            flush()
            close()
        }

        // MARK: Streams

        func openStream(isRepeatable: Bool, for origin: OriginConnections) -> HTTPStream? {
            guard mayOpenStream else { return nil }
            if pool.loop.now - lastHeard > Self.trustedSilence { session.ping() }
            reservedCount += 1
            return HTTPStream(on: self, for: origin)
        }

        private var mayOpenStream: Bool {
            !isClosed && !isRetired && session.mayOpenStream
                && session.openStreamCount + reservedCount < session.maximumConcurrentStreams
        }

        func begin(_ stream: HTTPStream, with request: HTTPStreamRequest) -> Result<Int64, HTTPStreamRequestError> {
            reservedCount -= 1
            guard !isClosed else { return .failure(.notAllowed) }
            do throws(HTTPStreamRequestError) {
                let number = try session.submit(request, isEarly: false)
                streams[number] = stream
                planTurn()
                return .success(number)
            } catch {
                becameFree()
                return .failure(error)
            }
        }

        func putBack() {
            reservedCount -= 1
            becameFree()
        }

        func cancel(_ number: Int64) {
            session.reset(number)
            planTurn()
        }

        func stopRequest(of number: Int64) {
            session.reset(number, code: .noError)
            planTurn()
        }

        func resumeBody(of number: Int64) {
            session.resumeBody(of: number)
            planTurn()
        }

        func consumed(_ count: Int, on number: Int64) {
            session.consumed(count, on: number)
            planTurn()
        }

        func setUrgency(_ urgency: Int, of number: Int64) {
            session.setPriority(urgency: urgency, isIncremental: false, of: number)
            planTurn()
        }

        func bodyWireBytes(of number: Int64) -> Int64 { Int64(session.receivedBodyFrameBytes(on: number)) }

        /// There may be room for somebody who waits.
        func becameFree() {
            guard !isClosed else { return }
            hasRoomForMore = true
            if isIdle {
                idleSince = pool.loop.now
                pool.loop.arm(idleTimer, at: idleSince + Self.idleLifetime, for: self)
            }
            planTurn()
        }

        // MARK: Turns

        /// Has what was asked for go out in the next turn.
        private func planTurn() {
            guard !isTurnPlanned, !isHandlingReadiness, !isClosed else { return }
            isTurnPlanned = true
            socket.callAgain()
        }

        func socketBecameReady(_ socket: DatagramSocket) {
            isTurnPlanned = false
            turn { receive(into: pool.loop.scratch) }
        }

        private func turn(_ body: () -> Void) {
            isHandlingReadiness = true
            body()
            flush()
            isHandlingReadiness = false
            setDeadline()
            if hasRoomForMore {
                hasRoomForMore = false
                if !isClosed { pool.serve(from: self) }
            }
            tellOpened()
            closeIfDone()
        }

        private func receive(into buffer: UnsafeMutableRawBufferPointer) {
            var budget = Self.readBudget
            while !isClosed {
                guard budget > 0 else { return socket.callAgain() }
                switch socket.read(into: buffer) {
                case .datagrams(let count, let segment, let mark):
                    budget -= max(count, 1)
                    lastHeard = pool.loop.now
                    receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]), segment: segment, mark: mark)
                case .wouldBlock: return
                // Nobody listens, or there is no way: while the handshake is on this is the end. Later anybody on the way may
                // have said so, and QUIC's own timers decide.
                case .failed(let failure):
                    if opened != nil { return lose(.connectionAttemptFailed(failure.code)) }
                }
            }
        }

        private func receive(_ bytes: UnsafeRawBufferPointer, segment: Int, mark: UInt8) {
            do throws(HTTP3Error) {
                try session.receive(bytes, segment: segment, ecn: mark, at: pool.loop.now)
            } catch {
                giveUp(error)
            }
        }

        private func flush() {
            var budget = Self.writeBudget
            do throws(HTTP3Error) {
                while !isClosed {
                    if let output = unsent {
                        switch send(output) {
                        case .wouldBlock: return
                        case .sent, .tooLong: break
                        case .failed(let failure):
                            if opened != nil { return lose(.connectionAttemptFailed(failure.code)) }
                        }
                        budget -= output.bytes.count
                        unsent = nil
                    }
                    guard budget > 0 else { return socket.callAgain() }
                    guard let next = try session.nextOutput(at: pool.loop.now) else { return }
                    unsent = next
                }
            } catch {
                giveUp(error)
            }
        }

        private func send(_ output: HTTP3Output) -> DatagramWrite {
            let mark = output.ecn | home.origin.service.trafficClass << 2
            return socket.write(output.bytes, segment: output.segmentSize, mark: mark)
        }

        private func setDeadline() {
            guard !isClosed else { return }
            if let deadline = session.deadline {
                // Postponing a timer is cheap, moving it to an earlier time is not dear.
                pool.loop.arm(sessionTimer, at: deadline, for: self)
            } else {
                pool.loop.disarm(sessionTimer)
            }
        }

        // MARK: The end

        func retire() {
            pool.retire(self)
            session.goAway()
            planTurn()
        }

        private func closeIfDone() {
            guard !isClosed, isIdle, opened == nil, isAdopted, isRetired else { return }
            closeAtOnce()
        }

        /// Whether the pool has it, or had.
        var isAdopted = false

        func closeAtOnce() {
            close()
            pool.letGo(self)
        }

        private func giveUp(_ error: HTTP3Error) {
            // The last words are for its log.
            if let words = try? session.nextOutput(at: pool.loop.now) { _ = send(words) }
            lose(LoadError(error))
        }

        private func lose(_ error: LoadError) {
            guard !isClosed else { return }
            loss = error
            shut()
            if let opened {
                self.opened = nil
                session.fail()
                // Never before `init` has returned: this is called from turns alone.
                return opened(error)
            }
            if isAdopted { pool.letGo(self) }
            session.fail()
        }

        /// Those whose streams these are hear nothing.
        func close() {
            guard !isClosed else { return }
            opened = nil
            for stream in streams.values { stream.fallSilent() }
            session.close(at: pool.loop.now).withUnsafeBytes { words in
                if !words.isEmpty { _ = socket.write(words, segment: words.count, mark: 0) }
            }
            shut()
            session.fail()
        }

        private func shut() {
            pool.loop.disarm(idleTimer)
            pool.loop.disarm(sessionTimer)
            unsent = nil
            socket.close()
        }

        func timerFired(_ timer: LoopTimer) {
            if timer === sessionTimer {
                return turn {
                    do throws(HTTP3Error) { try session.handleDeadline(at: pool.loop.now) } catch { giveUp(error) }
                }
            }
            guard isIdle else { return }
            let end = idleSince + Self.idleLifetime
            guard end <= pool.loop.now else { return pool.loop.arm(idleTimer, at: end, for: self) }
            retire()
        }
    }

    extension HTTP3Endpoints {
        fileprivate init(_ socket: DatagramSocket) {
            self.init(local: socket.localAddress.octets, remote: socket.remoteAddress.octets)
        }
    }

    extension SocketAddress {
        /// The bytes of its `sockaddr`.
        fileprivate var octets: [UInt8] {
            withSockaddr { Array(UnsafeRawBufferPointer(start: $0, count: Int($1))) }
        }
    }
#endif
