internal import CLoadingLinux
internal import Glibc
internal import LoadingSemantics
internal import LoadingStorage
internal import LoadingTransport

/// Finds the service of a place, and starts it if there is none.
package enum ServiceStart {
    /// Returns a connected, non-blocking socket. Waits for the disk, and for a process that starts or ends the service,
    /// at most `TimeLimits.serviceStart`.
    ///
    /// The service may be about to end with an error, for example because of a second one. Then the connection ends
    /// without a message.
    ///
    /// - Parameter program: The program to start; nil to search for it.
    package static func connect(
        to place: ServicePlace, starting program: ServiceProgram? = nil
    ) throws(ServiceStartFailure) -> Int32 {
        do throws(StorageFailure) { try place.make() } catch { throw .storage(error) }
        if let descriptor = try connectIfRunning(to: place) { return descriptor }
        let lock = try ServiceLock.wait(at: place.lockPath)
        defer { lock.release() }
        // Another process may have started it meanwhile.
        if let descriptor = try connectIfRunning(to: place) { return descriptor }
        // Left behind by a service that was killed.
        unlink(place.socketPath)
        let started: ServiceProgram
        if let program { started = program } else { started = try ServiceProgram.found() }
        let address: UNIXAddress
        do throws(POSIXFailure) {
            address = try UNIXAddress(place.socketPath)
        } catch {
            throw .socket(place.socketPath, error.code)
        }
        do throws(ServiceStartFailure) {
            try started.start(at: address, for: place)
        } catch {
            unlink(place.socketPath)
            throw error
        }
        // The socket listens already, even if the program is not ready.
        if let descriptor = try connectIfListening(place.socketPath) { return descriptor }
        throw .program(started.path, ECONNREFUSED)
    }

    /// Returns nil if no service runs.
    package static func connectIfRunning(to place: ServicePlace) throws(ServiceStartFailure) -> Int32? {
        if let descriptor = try connectIfListening(place.socketPath) { return descriptor }
        // A service of the same state may have been started by a process with another runtime folder.
        guard let other = ServiceOwnership.socketPath(at: place.ownerPath), other != place.socketPath else {
            return nil
        }
        return try connectIfListening(other)
    }

    /// Returns nil if no process listens at that path.
    static func connectIfListening(_ path: String) throws(ServiceStartFailure) -> Int32? {
        let descriptor = cll_socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw .socket(path, cll_errno()) }
        var isConnected = false
        defer { if !isConnected { close(descriptor) } }
        let code: Int32
        do throws(POSIXFailure) {
            code = connect(descriptor, to: try UNIXAddress(path))
        } catch {
            code = error.code
        }
        switch code {
        case 0: break
        case ENOENT, ECONNREFUSED, ENOTDIR: return nil
        default: throw .socket(path, code)
        }
        guard let user = SocketPeer.userID(of: descriptor), user == geteuid() || user == 0 else { throw .foreign(path) }
        isConnected = true
        return descriptor
    }

    private static func connect(_ descriptor: Int32, to address: consuming UNIXAddress) -> Int32 {
        let limits = TimeLimits.standard
        var code: Int32 = 0
        for _ in 0..<limits.serviceStart / limits.serviceLockRetry {
            code =
                address.withAddress {
                    Glibc.connect(descriptor, $0.assumingMemoryBound(to: sockaddr.self), $1) == 0 ? 0 : cll_errno()
                } ?? EINVAL
            // Too many connections wait to be accepted.
            guard code == EAGAIN || code == EINTR else { return code == EISCONN ? 0 : code }
            if code == EAGAIN { usleep(UInt32(limits.serviceLockRetry / 1000)) }
        }
        return code
    }
}
