internal import CLoadingLinux
internal import FoundationEssentials
internal import Glibc

/// Reads the rows in the pages of a database file without SQLite (SQLite's "Database File Format").
///
/// SQLite reaches a row through interior pages, so a damaged one hides all rows below it. This reader scans all leaf
/// pages. The caller verifies the checksums of the rows.
///
/// Closing the descriptor releases all POSIX locks of this process on the file. Other connections of the process notice
/// before they write that the file was replaced.
struct DatabasePages: ~Copyable {
    private let descriptor: Int32
    private let pageSize: Int
    private let pageCount: Int

    /// No row is larger; a page that claims more is damaged.
    private static let largestRow = 64 << 20
    private static let mostColumns = 64

    init(_ path: String) throws(StorageFailure) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw StorageFailure(.open, path, .system(cll_errno())) }
        self.descriptor = descriptor
        let header = Self.read(descriptor, at: 0, count: 100)
        let claimed = header.count == 100 ? Int(header[16]) << 8 | Int(header[17]) : 0
        let isSize = claimed >= 512 && claimed & (claimed - 1) == 0
        pageSize = claimed == 1 ? 65536 : isSize ? claimed : 4096
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        pageCount = isFile ? Int(status.st_size) / pageSize : 0
    }

    deinit { close(descriptor) }

    /// Reads all rows of all tables. The first column is the row id.
    func rows(_ each: ([DatabaseValue]) throws(StorageFailure) -> Void) throws(StorageFailure) {
        guard pageCount > 0 else { return }
        for number in 1...pageCount {
            let page = self.page(number)
            let start = number == 1 ? 100 : 0
            // A leaf page of a table b-tree.
            guard page.count == pageSize, page[start] == 13 else { continue }
            let count = Int(page[start + 3]) << 8 | Int(page[start + 4])
            for index in 0..<count {
                let pointer = start + 8 + 2 * index
                guard pointer + 1 < page.count else { break }
                if let row = self.row(in: page, at: Int(page[pointer]) << 8 | Int(page[pointer + 1])) { try each(row) }
            }
        }
    }

    private func page(_ number: Int) -> [UInt8] {
        Self.read(descriptor, at: (number - 1) * pageSize, count: pageSize)
    }

    /// Returns fewer bytes at the end of the file, or after an error.
    private static func read(_ descriptor: Int32, at offset: Int, count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                guard let base = buffer.baseAddress else { return }
                let got = pread(descriptor, base + filled, count - filled, off_t(offset + filled))
                if got < 0, cll_errno() == EINTR { continue }
                if got <= 0 { return }
                filled += got
            }
        }
    }

    // MARK: Rows

    private func row(in page: [UInt8], at offset: Int) -> [DatabaseValue]? {
        var cell = OctetReader(page[min(offset, page.count)...])
        guard let size = cell.number(), let id = cell.number(), size >= 0, size <= Self.largestRow,
            let content = content(of: &cell, size: Int(size))
        else { return nil }
        return Self.columns(content).map { [.integer(id)] + $0.dropFirst() }
    }

    /// A large row continues in a linked list of overflow pages.
    private func content(of cell: inout OctetReader, size: Int) -> [UInt8]? {
        let most = pageSize - 35
        if size <= most { return cell.take(size).map(Array.init) }
        let least = (pageSize - 12) * 32 / 255 - 23
        let fitting = least + (size - least) % (pageSize - 4)
        guard var content = cell.take(fitting <= most ? fitting : least).map(Array.init),
            var next = cell.bigEndian(4)
        else { return nil }
        while content.count < size {
            guard next > 0, next <= pageCount else { return nil }
            var page = OctetReader(self.page(Int(next))[...])
            guard let following = page.bigEndian(4), let piece = page.take(min(size - content.count, pageSize - 4))
            else { return nil }
            content += piece
            next = following
        }
        return content
    }

    private static func columns(_ content: [UInt8]) -> [DatabaseValue]? {
        var head = OctetReader(content[...])
        guard let size = head.number(), size >= 1, size <= content.count else { return nil }
        var body = OctetReader(content[Int(size)...])
        var values: [DatabaseValue] = []
        while head.position < size {
            guard let kind = head.number(), values.count < Self.mostColumns, let value = Self.value(of: kind, &body)
            else {
                return nil
            }
            values.append(value)
        }
        return values
    }

    private static func value(of kind: Int64, _ body: inout OctetReader) -> DatabaseValue? {
        switch kind {
        case 0: return .null
        case 1...4: return body.bigEndian(Int(kind)).map { .integer($0) }
        case 5: return body.bigEndian(6).map { .integer($0) }
        case 6: return body.bigEndian(8).map { .integer($0) }
        case 7: return body.bigEndian(8).map { .real(Double(bitPattern: UInt64(bitPattern: $0))) }
        case 8: return .integer(0)
        case 9: return .integer(1)
        case 12...:
            guard let octets = body.take(Int((kind - 12) / 2)) else { return nil }
            if kind & 1 == 0 { return .blob(Data(octets)) }
            return DatabaseValue(String(validating: octets, as: UTF8.self))
        default: return nil
        }
    }
}

/// Reads integers and octets from the front of a buffer.
private struct OctetReader {
    private let all: ArraySlice<UInt8>
    private var next: Int

    init(_ octets: ArraySlice<UInt8>) {
        all = octets
        next = octets.startIndex
    }

    /// The number of octets read.
    var position: Int { next - all.startIndex }

    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, all.endIndex - next >= count else { return nil }
        defer { next += count }
        return all[next..<next + count]
    }

    /// Signed.
    mutating func bigEndian(_ count: Int) -> Int64? {
        guard let octets = take(count), let first = octets.first else { return nil }
        return octets.dropFirst().reduce(Int64(Int8(bitPattern: first))) { $0 << 8 | Int64($1) }
    }

    /// A varint: seven bits per octet while the high bit is set, at most nine octets, the last with eight bits.
    mutating func number() -> Int64? {
        var result: UInt64 = 0
        for index in 0..<9 {
            guard let octet = take(1)?.first else { return nil }
            if index == 8 { return Int64(bitPattern: result << 8 | UInt64(octet)) }
            result = result << 7 | UInt64(octet & 0x7F)
            if octet & 0x80 == 0 { return Int64(bitPattern: result) }
        }
        return nil
    }
}
