internal import Glibc
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Connections whose server is silent, or grants no streams.
extension HTTP3Connection {
    func watchSilence() {
        if silenceTimer.isArmed { return }
        pool.loop.arm(silenceTimer, at: pool.loop.now + pool.loop.limits.http3StreamSilence, for: self)
    }

    /// A crashed server sends no notice, and exchanges whose responses stall would wait for their own timeouts. A slow
    /// server still acknowledges the PING.
    private func lookForSilence() {
        if isIdle { return }
        let end = lastHeard + pool.loop.limits.http3StreamSilence
        if pool.loop.now >= end, !hasLostLocalAddress, !answerTimer.isArmed {
            ping()
            planTurn()
        }
        let next = end > pool.loop.now ? end : pool.loop.now + pool.loop.limits.http3StreamSilence
        pool.loop.arm(silenceTimer, at: next, for: self)
    }

    /// Sends a PING. The server has to answer in time, or the connection is lost; while responses are awaited, the time
    /// is longer.
    func ping() {
        session.ping()
        pingTime = pool.loop.now
        let limits = pool.loop.limits
        let timeout = isIdle ? limits.http3PingTimeout : limits.http3StreamPingTimeout
        pool.loop.arm(answerTimer, at: pingTime + timeout, for: self)
    }

    /// A server that has sent anything since the PING is alive: the PING was lost, or its answer.
    private func answerTimedOut() {
        guard !isIdle, lastHeard > pingTime else { return lose(.networkConnectionLost(ETIMEDOUT)) }
        ping()
        planTurn()
    }

    /// Whether the server may forget the connection before a request arrives, because its idle timeout is almost over
    /// (RFC 9000 §10.1). It would send no notice, so a request that cannot be repeated would be lost (CONN-10).
    var mayBeForgotten: Bool {
        guard isIdle, isAdopted, !isRetired, !isClosed, let timeout = session.peerIdleTimeout else { return false }
        return pool.loop.now - max(idleSince, lastHeard) > timeout / 3 * 2
    }

    /// HTTP/3 counts as failed at a server that has answered all requests and grants no more streams. Requests use TCP
    /// instead.
    private func streamCreditTimedOut() {
        guard hasNoStreamCredit, !isRetired else { return }
        pool.http3Services.failed(service, of: primaryOrigin.key.hostPort, at: pool.loop.now)
        retire()
    }

    func timerFired(_ timer: LoopTimer) {
        if timer === sessionTimer {
            return turn {
                do throws(HTTP3Error) { try session.handleDeadline(at: pool.loop.now) } catch { giveUp(error) }
            }
        }
        if timer === answerTimer { return answerTimedOut() }
        if timer === streamCreditTimer { return streamCreditTimedOut() }
        if timer === silenceTimer { return lookForSilence() }
        if isIdleTimeOver() { retire() }
    }
}
