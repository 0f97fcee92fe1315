internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Datagrams and deadlines.
extension HTTP3Connection {
    /// The bytes that one turn sends before other connections get their turn.
    private static let writeBudget = 1024 * 1024

    func callAgain() { socket.callAgain() }

    func socketBecameReady(_ socket: DatagramSocket) {
        isTurnPlanned = false
        turn { receive(into: pool.loop.scratch) }
    }

    func turn(_ body: () -> Void) {
        isHandlingReadiness = true
        replayEarly()
        body()
        handOutGathered()
        flush()
        isHandlingReadiness = false
        setDeadline()
        if isAdopted, !isRetired, !isClosed, isOverfull || isAtLimit && reservedCount == 0 { retire() }
        verifyLimitEarly()
        serveWaiting()
        reportOpened()
        closeIfDone()
    }

    private func receive(into buffer: UnsafeMutableRawBufferPointer) {
        var budget = Self.readBudget
        while !isClosed {
            guard budget > 0 else { return socket.callAgain() }
            switch socket.read(into: buffer) {
            case .datagrams(let count, let segment, let mark):
                // A small datagram costs as much as a larger one.
                budget -= max(count, 512)
                receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]), segment: segment, mark: mark)
            case .wouldBlock: return
            // The port is closed, or there is no route. This ends the connection during the handshake. Later, the error
            // may be forged by any host on the path, so QUIC's own timers decide.
            case .failed(let failure):
                if opened != nil { return lose(.connectionAttemptFailed(failure.code)) }
                return socket.callAgain()
            }
        }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer, segment: Int, mark: UInt8) {
        do throws(HTTP3Error) {
            try session.receive(bytes, segment: segment, ecn: mark, at: pool.loop.now)
            lastHeard = max(lastHeard, session.lastAuthenticated)
        } catch {
            giveUp(error)
        }
    }

    func flush() {
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

    func send(_ output: HTTP3Output) -> DatagramWrite {
        let mark = output.ecn | primaryOrigin.key.service.trafficClass << 2
        return socket.write(output.bytes, segment: output.segmentSize, mark: mark)
    }

    private func setDeadline() {
        guard !isClosed else { return }
        if let deadline = session.deadline {
            // Postponing a timer is cheap. Moving it to an earlier time costs little.
            pool.loop.arm(sessionTimer, at: deadline, for: self)
        } else {
            pool.loop.disarm(sessionTimer)
        }
    }
}
