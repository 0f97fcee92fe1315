internal import Glibc
internal import LoadingEvents
internal import LoadingTransport
internal import Synchronization

/// What one connection does, packet by packet, in the form of qlog: for people who look for what has gone wrong. No
/// keys and no contents stand there.
///
/// It is written between two turns with the loop lent. No load is disturbed by it: the file ends where the disk has not kept
/// up, and there is none where it cannot be made.
final class QlogFile: Callout, @unchecked Sendable {
    // Sendable because `waiting`, `isAtWork` and `hasEnded` are guarded by `lock`, and `descriptor` belongs to who is at
    // work, of whom there is one at a time.

    private let loop: EventLoop
    private let path: String
    private let lock = Lock()
    private var waiting: [UInt8] = []
    private var isAtWork = false
    private var hasEnded = false
    private var descriptor: Int32 = -1

    /// Bytes that may wait for the disk.
    private static let most = 4 * 1024 * 1024
    private static let number = Atomic(0)

    /// Nil unless the environment names a folder for such files.
    ///
    /// - Parameter host: Stands in the file's name.
    init?(of host: String, on loop: EventLoop) {
        guard let folder = getenv("QLOGDIR").map({ String(cString: $0) }), !folder.isEmpty else { return nil }
        let name = host.utf8.prefix(100).map { octet in
            Self.mayStand(octet) ? Character(UnicodeScalar(octet)) : "_"
        }
        let number = Self.number.add(1, ordering: .relaxed).newValue
        path = "\(folder)/\(time(nil))-\(getpid())-\(number)-\(String(name)).sqlog"
        self.loop = loop
    }

    deinit {
        // Nobody is at work, since who is holds this.
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

    /// - Parameter piece: A record, there during the call only.
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

    /// What waits; nil if nothing does, and then nobody is at work.
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
                // A file that takes nothing will take nothing.
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }
}
