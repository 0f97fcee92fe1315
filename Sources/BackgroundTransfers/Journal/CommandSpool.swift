internal import CLoadingLinux
internal import FoundationEssentials
internal import Glibc
internal import LoadingPipeline
internal import LoadingStorage

/// The commands of a program to its background session, in a file: they outlive the program and the service, until the
/// journal has them.
///
/// The program's library appends, and removes what the journal has. The service reads the file when no program is
/// attached. A lock on the file shows that a session object has it, because its process may end at any time. Each entry
/// has its length, its number, a checksum and a `ServiceCommand`. What follows a torn entry is ignored.
package final class CommandSpool {
    private let path: String
    private var descriptor: Int32
    private var size: Int
    /// What was appended since the file was emptied: the number of the last entry of each write, and where it ends.
    private var appended: [(number: UInt64, end: Int)] = []
    /// From this size on, the file is replaced by one without what the journal has, if that is half of it.
    private var replacementSize: Int
    private let smallestReplacement: Int
    private static let headSize = 20

    package struct Failure: Error, Equatable {
        package let code: Int32
    }

    package struct Entry: Equatable, Sendable {
        package let number: UInt64
        package let command: ServiceCommand
    }

    /// Opens the file for appending. It is created if necessary, with mode 0600.
    ///
    /// A process that was killed within a write may have left a torn entry, which would hide those that follow. It is
    /// removed.
    ///
    /// - Parameter smallestReplacement: The size from which on the file is replaced.
    package init(path: String, smallestReplacement: Int = 1 << 20) throws(Failure) {
        self.path = path
        self.smallestReplacement = smallestReplacement
        replacementSize = smallestReplacement
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        size = 0
        // From here on `deinit` closes the file, also when this throws.
        guard descriptor >= 0 else { throw Failure(code: cll_errno()) }
        try Self.check(descriptor)
        _ = cll_mark_in_use(descriptor)
        let bytes = Self.bytes(of: descriptor)
        let end = Self.parse(bytes).end
        size = bytes.count
        if end < bytes.count, ftruncate(descriptor, off_t(end)) == 0 { size = end }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private static func check(_ descriptor: Int32) throws(Failure) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Failure(code: cll_errno()) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_nlink == 1 else {
            throw Failure(code: EPERM)
        }
    }

    /// Whether a session object has the file, also if that cannot be found out.
    package static func isInUse(at path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return cll_errno() != ENOENT }
        defer { close(descriptor) }
        // An object that goes on in another file removes this one before it closes it.
        return cll_is_in_use(descriptor) != 0 || isRemoved(descriptor)
    }

    /// Whether the file has no name any more.
    package var isRemoved: Bool { Self.isRemoved(descriptor) }

    private static func isRemoved(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink == 0
    }

    /// Appends commands with the numbers from `first` on, in one write.
    package func append(_ commands: [EncodedCommand], from first: UInt64) throws(Failure) {
        var bytes: [UInt8] = []
        for (index, command) in commands.enumerated() {
            guard let content = command.content else { throw Failure(code: EINVAL) }
            Self.append(content, number: first &+ UInt64(index), to: &bytes)
        }
        let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count == bytes.count else {
            let code = count < 0 ? cll_errno() : ENOSPC
            // A part of an entry would hide those that follow.
            if count > 0 { undo(count) }
            throw Failure(code: code)
        }
        size += count
        appended.append((first &+ UInt64(commands.count) &- 1, size))
    }

    private func undo(_ count: Int) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return }
        _ = ftruncate(descriptor, max(0, status.st_size - count))
    }

    /// The journal has the commands up to this number. Empties the file if that is all of them.
    package func committed(_ number: UInt64) {
        guard let last = appended.last else { return }
        if last.number <= number { return empty() }
        guard size >= replacementSize else { return }
        let count = appended.prefix { $0.number <= number }.count
        guard count > 0, 2 * appended[count - 1].end >= size else { return }
        replace(without: count)
    }

    /// Drops all entries.
    package func empty() {
        guard ftruncate(descriptor, 0) == 0 else { return }
        (size, appended, replacementSize) = (0, [], smallestReplacement)
    }

    /// Goes on in another file, without what the first writes have appended. Both have the others, so that a process
    /// may be killed at any moment.
    private func replace(without count: Int) {
        // Not at once again, if that fails.
        replacementSize = 2 * size
        let start = appended[count - 1].end
        // A name of which a service takes no notice, but for removing it when it starts.
        let name = path + "+new"
        let new = open(name, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard new >= 0 else { return }
        _ = cll_mark_in_use(new)
        // A file that has lost its name must not get it back.
        guard (try? Self.check(new)) != nil, copy(from: start, to: new), cll_exchange_files(name, path) == 0 else {
            close(new)
            unlink(name)
            return
        }
        unlink(name)
        close(descriptor)
        descriptor = new
        size -= start
        appended.removeFirst(count)
        for index in appended.indices { appended[index].end -= start }
        replacementSize = max(smallestReplacement, 2 * size)
    }

    private func copy(from start: Int, to other: Int32) -> Bool {
        var bytes = [UInt8](repeating: 0, count: size - start)
        return bytes.withUnsafeMutableBytes { buffer in
            pread(descriptor, buffer.baseAddress, buffer.count, off_t(start)) == buffer.count
                && write(other, buffer.baseAddress, buffer.count) == buffer.count
        }
    }

    private static func append(_ content: Data, number: UInt64, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: UInt32(content.count).littleEndian) { bytes += $0 }
        withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
        withUnsafeBytes(of: checksum(number, content).littleEndian) { bytes += $0 }
        bytes += content
    }

    private static func checksum(_ number: UInt64, _ content: Data) -> Int64 {
        var sum = Checksum()
        withUnsafeBytes(of: number.littleEndian) { sum.add($0) }
        content.withUnsafeBytes { sum.add($0) }
        return sum.value
    }

    // MARK: Reading

    /// The entries of the file, in order. Empty if there is no file, or none that may be read.
    package static func entries(at path: String) -> [Entry] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        guard (try? check(descriptor)) != nil else { return [] }
        return entries(in: bytes(of: descriptor))
    }

    private static func bytes(of descriptor: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        let size = 256 * 1024
        while true {
            let old = bytes.count
            bytes += [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                count = max(0, read(descriptor, buffer.baseAddress, size))
            }
            if bytes.count == old { return bytes }
        }
    }

    package static func entries(in bytes: [UInt8]) -> [Entry] { parse(bytes).entries }

    /// The whole entries, and where they end.
    private static func parse(_ bytes: [UInt8]) -> (entries: [Entry], end: Int) {
        var entries: [Entry] = []
        var start = 0
        while bytes.count - start >= headSize {
            let (length, number, sum) = bytes.withUnsafeBytes { buffer in
                (
                    Int(UInt32(littleEndian: buffer.loadUnaligned(fromByteOffset: start, as: UInt32.self))),
                    UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: start + 4, as: UInt64.self)),
                    Int64(littleEndian: buffer.loadUnaligned(fromByteOffset: start + 12, as: Int64.self))
                )
            }
            guard length <= ServiceProtocol.largestMessage, bytes.count - start - headSize >= length else { break }
            let content = Data(bytes[(start + headSize)..<(start + headSize + length)])
            guard checksum(number, content) == sum,
                let message = try? TransferMessage<ServiceCommand>(decoding: content)
            else { break }
            entries.append(Entry(number: number, command: message.content))
            start += headSize + length
        }
        return (entries, start)
    }
}

/// A command as it is in a spool.
///
/// The acknowledgement of a callback is encoded before the callback, so that only a write follows its return: a program
/// that is killed between the two gets the callback again.
package struct EncodedCommand: Sendable {
    package let command: ServiceCommand
    /// Nil if it is too long, or has a number that JSON does not have.
    fileprivate let content: Data?
    package var isTooLong: Bool { content == nil }

    package init(_ command: ServiceCommand) {
        self.command = command
        let encoded = try? TransferMessage(command).encoded()
        content = encoded.flatMap { $0.count <= ServiceProtocol.largestCommand ? $0 : nil }
    }
}
