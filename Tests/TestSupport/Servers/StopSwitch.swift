internal import CTestTLS
internal import Glibc

/// Stops all threads of a server: those in `poll` by a descriptor, others by a signal.
final class StopSwitch: Sendable {
    let signal = Signal("the server's stop")
    /// Stays readable after the stop.
    let descriptor: Int32
    private let writingEnd: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard ctt_pipe(&ends) == 0 else { throw POSIXFailure("pipe2") }
        descriptor = ends[0]
        writingEnd = ends[1]
    }

    deinit {
        close(descriptor)
        close(writingEnd)
    }

    func stop() {
        signal.fire()
        _ = write(writingEnd, [1], 1)
    }
}

/// Thrown by a script's waits when its server is stopped; not a failure of the script.
package struct ServerStopped: Error {}
