internal import CLoadingLinux
internal import Glibc
internal import LoadingTransport

/// The process at the other end of a UNIX socket, whose end is reported. Confined to the loop, which retains it until
/// `close`.
///
/// The end of the connection does not show it: a process that the peer has forked without `exec` has the socket too,
/// and keeps it open (BG-7).
final class PeerProcess: ReadinessHandler {
    private let loop: EventLoop
    /// Of the kernel, for the process; −1 if that has ended before.
    private var descriptor: Int32
    private var registration: LoopRegistration?
    private var ended: (() -> Void)?

    /// Nil if the kernel does not report the process: it is one of another namespace, for example.
    ///
    /// - Parameter ended: Called on the loop, in a later turn.
    init?(of socket: Int32, on loop: EventLoop, ended: @escaping () -> Void) {
        self.loop = loop
        self.ended = ended
        let process = cll_peer_process(socket)
        descriptor = process > 0 ? cll_open_process(process) : -1
        if descriptor >= 0 {
            registration = loop.register(descriptor, self)
            if registration != nil { return }
            Glibc.close(descriptor)
            return nil
        }
        guard process > 0, cll_errno() == ESRCH else { return nil }
        loop.callAgain(self)
    }

    var hasEnded: Bool {
        if descriptor < 0 { return true }
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) > 0
    }

    func becameReady(_ readiness: Readiness) { ended?() }

    /// Nothing is called any more.
    func close() {
        ended = nil
        if let registration { loop.unregister(descriptor, registration) }
        registration = nil
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }
}
