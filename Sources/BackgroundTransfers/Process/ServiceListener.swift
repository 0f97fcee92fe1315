internal import CLoadingDaemon
internal import CLoadingLinux
internal import Glibc
internal import LoadingTransport

/// The listening socket of a service.
package struct ServiceListener: Sendable {
    let descriptor: Int32
    /// Whether systemd made it, and listens itself when no service runs. Then it stays.
    let isOfSystemd: Bool

    private init(_ descriptor: Int32, isOfSystemd: Bool) {
        self.descriptor = descriptor
        self.isOfSystemd = isOfSystemd
    }

    /// The socket that a library has made for this process.
    package init(inherited descriptor: Int32) {
        _ = cll_prepare_inherited(descriptor)
        self.init(descriptor, isOfSystemd: false)
    }

    /// The socket that systemd has made for this process (sd_listen_fds(3)); nil if there is none.
    ///
    /// - Parameter environment: Returns the value of an environment variable.
    package static func ofSystemd(environment: (String) -> String?) -> ServiceListener? {
        guard environment("LISTEN_PID").flatMap({ pid_t($0) }) == getpid(),
            let count = environment("LISTEN_FDS").flatMap({ Int32($0) }), count > 0, count < 1024
        else { return nil }
        let names = (environment("LISTEN_FDNAMES") ?? "").split(separator: ":", omittingEmptySubsequences: false)
        let index = names.firstIndex { $0 == ServiceProgram.name } ?? 0
        guard index < Int(count) else { return nil }
        let descriptor = 3 + Int32(index)
        guard cll_prepare_inherited(descriptor) == 0 else { return nil }
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
        return ServiceListener(descriptor, isOfSystemd: true)
    }

    /// A new socket at that path, in the place of an old one.
    static func make(at path: String) throws(ServiceStartFailure) -> ServiceListener {
        unlink(path)
        let descriptor: Int32
        do throws(POSIXFailure) {
            let address = try UNIXAddress(path)
            descriptor = address.withAddress { cld_listen($0, $1) } ?? -1
        } catch {
            throw .socket(path, error.code)
        }
        guard descriptor >= 0 else { throw .socket(path, cll_errno()) }
        return ServiceListener(descriptor, isOfSystemd: false)
    }

    /// The next connection; nil if there is none now.
    ///
    /// - Parameter refused: Called for each connection of another user, which is closed.
    func accept(refused: () -> Void = {}) -> Result<Int32, POSIXFailure>? {
        while true {
            let accepted = cll_accept(descriptor)
            guard accepted >= 0 else {
                switch cll_errno() {
                case EINTR, ECONNABORTED: continue
                // EINVAL: it does not listen any more.
                case EAGAIN, EWOULDBLOCK, EINVAL: return nil
                case let code: return .failure(POSIXFailure(code))
                }
            }
            if SocketPeer.userID(of: accepted) == geteuid() { return .success(accepted) }
            close(accepted)
            refused()
        }
    }

    /// The path at which it listens.
    var path: String? {
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { buffer -> String? in
            var length = socklen_t(buffer.count)
            guard let base = buffer.baseAddress,
                getsockname(descriptor, base.assumingMemoryBound(to: sockaddr.self), &length) == 0, length > 3
            else { return nil }
            return String(decoding: buffer[2..<Int(length)].prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// The file at a path, for the question whether it is still the same.
    struct File: Equatable {
        var device: UInt64
        var number: UInt64

        init?(at path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            number = UInt64(status.st_ino)
        }
    }
}
