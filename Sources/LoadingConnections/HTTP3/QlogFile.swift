internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
internal import LoadingTransport
internal import Synchronization

/// The packet-level log of one connection in qlog format, for debugging. It contains no keys and no contents.
///
/// The file is written between two turns, while the loop is lent to a callout. Writing does not disturb any load: the
/// file ends early if the disk is too slow, and is missing if it cannot be created.
final class QlogFile: Callout, @unchecked Sendable {
    // Sendable because `waiting`, `isAtWork` and `hasEnded` are guarded by `lock`, and `descriptor` is used by the
    // running callout only. At most one callout runs at a time.

    private let loop: EventLoop
    private let path: String
    private let lock = Lock()
    private var waiting: [UInt8] = []
    private var isAtWork = false
    private var hasEnded = false
    private var descriptor: Int32 = -1

    /// The maximum number of bytes that wait for the disk.
    private static let most = 4 * 1024 * 1024
    private static let number = Atomic(0)

    /// Nil unless the environment variable `QLOGDIR` names a folder for such files. A process with other privileges
    /// than those of its user (set-user-ID) ignores the variable.
    ///
    /// - Parameter host: Is part of the file's name.
    init?(of host: String, on loop: EventLoop) {
        guard let folder = cll_environment("QLOGDIR").map({ String(cString: $0) }), !folder.isEmpty else { return nil }
        let name = host.utf8.prefix(100).map { octet in
            Self.mayStand(octet) ? Character(UnicodeScalar(octet)) : "_"
        }
        let number = Self.number.add(1, ordering: .relaxed).newValue
        path = "\(folder)/\(time(nil))-\(getpid())-\(number)-\(String(name)).sqlog"
        self.loop = loop
    }

    deinit {
        // No callout is running: a running callout retains this object.
        if descriptor >= 0 { close(descriptor) }
    }

    private static func mayStand(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
            UInt8(ascii: "-"), UInt8(ascii: ":"):
            true
        default: false
        }
    }

    /// - Parameter piece: A record, valid during the call only.
    func write(_ piece: UnsafeRawBufferPointer) {
        let begins = lock.withLock {
            if waiting.count + piece.count > Self.most { hasEnded = true }
            if hasEnded || piece.isEmpty { return false }
            waiting.append(contentsOf: piece)
            defer { isAtWork = true }
            return !isAtWork
        }
        if begins { loop.callOut(self) }
    }

    func callOut() {
        while let bytes = next() {
            if !write(bytes) { lock.withLock { hasEnded = true } }
        }
    }

    /// The waiting bytes. Nil if there are none, and then no callout is running.
    private func next() -> [UInt8]? {
        lock.withLock {
            defer { waiting = [] }
            isAtWork = !waiting.isEmpty
            return isAtWork ? waiting : nil
        }
    }

    private func write(_ bytes: [UInt8]) -> Bool {
        if descriptor < 0 { descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600) }
        guard descriptor >= 0 else { return false }
        return bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                // A write that takes no bytes will not take any later.
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }
}
