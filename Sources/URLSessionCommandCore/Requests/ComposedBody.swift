import Foundation

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A body of several sources, read one after the other while they are sent.
package struct ComposedBody: Equatable, Sendable {
    package enum Segment: Equatable, Sendable {
        case bytes([UInt8])
        /// - Parameters:
        ///   - stripsLineBreaks: Whether CR, LF and NUL are left out.
        ///   - length: The number of bytes to send; nil for all until the end.
        case file(String, stripsLineBreaks: Bool, length: Int64?)
    }

    private(set) var segments: [Segment] = []
    /// In bytes; nil if it is not known.
    private(set) var length: Int64? = 0
    /// Whether all sources can be read again.
    private(set) var isRepeatable = true

    mutating func add(_ text: String) { add(Array(text.utf8)) }

    mutating func add(_ bytes: [UInt8]) {
        if case .bytes(let last)? = segments.last {
            segments[segments.count - 1] = .bytes(last + bytes)
        } else {
            segments.append(.bytes(bytes))
        }
        length = length.map { $0 + Int64(bytes.count) }
    }

    /// Adds a file. One that is not regular, and one of `/proc`, has no known length.
    mutating func add(file path: String, stripsLineBreaks: Bool = false) throws(UsageError) {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            throw UsageError("cannot read '\(path)': \(String(cString: strerror(errno)))", exitCode: .readError)
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw UsageError("cannot send '\(path)': it is a directory", exitCode: .readError)
        }
        let isRegular = status.st_mode & S_IFMT == S_IFREG
        if !isRegular { isRepeatable = false }
        var count: Int64?
        if isRegular {
            let start = path == FileContents.standardInput ? FileContents.standardInputOffset : 0
            let size = max(Int64(status.st_size - start), 0)
            count = size == 0 || stripsLineBreaks ? try Self.count(path, stripsLineBreaks) : size
            // Files of `/proc` have bytes, and may have other ones next time.
            if status.st_size == 0, count != 0 { count = nil }
        }
        segments.append(.file(path, stripsLineBreaks: stripsLineBreaks, length: count))
        length = count.flatMap { count in length.map { $0 + count } }
    }

    private static func count(_ path: String, _ stripsLineBreaks: Bool) throws(UsageError) -> Int64 {
        let stream = BodyStream([.file(path, stripsLineBreaks: stripsLineBreaks, length: nil)])
        stream.open()
        defer { stream.close() }
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        var total: Int64 = 0
        while true {
            let count = stream.read(&buffer, maxLength: buffer.count)
            if count == 0 { return total }
            guard count > 0 else {
                let reason = (stream.errorIfFailed as NSError?).map { String(cString: strerror(Int32($0.code))) } ?? ""
                throw UsageError("cannot read '\(path)': \(reason)", exitCode: .readError)
            }
            total += Int64(count)
        }
    }

    /// A file may grow or shrink while it is sent. Of each the announced bytes are sent, so that what follows it is
    /// sent too. Without an announced length all of it is sent.
    func newStream() -> InputStream {
        guard length == nil else { return BodyStream(segments) }
        return BodyStream(
            segments.map { segment -> Segment in
                guard case .file(let path, let stripsLineBreaks, _) = segment else { return segment }
                return .file(path, stripsLineBreaks: stripsLineBreaks, length: nil)
            })
    }

    /// The simplest form of the same body.
    var asBody: RequestBuilder.Body {
        if segments.isEmpty { return .data(Data()) }
        if segments.count == 1, case .bytes(let bytes) = segments[0] { return .data(Data(bytes)) }
        return .composed(self)
    }
}

/// Reads segments one after the other. Used by one thread at a time, as every stream.
final class BodyStream: InputStream {
    /// The POSIX code of `streamError` if a file has fewer bytes than its length. No read fails with it.
    static let fileTooShort = ERANGE

    private var segments: ArraySlice<ComposedBody.Segment>
    /// The rest of the current bytes.
    private var bytes: ArraySlice<UInt8> = []
    private var file: Int32 = -1
    private var strips = false
    /// The bytes of the file that are still to be sent; nil for all until its end.
    private var rest: Int64?
    private var status = Stream.Status.notOpen
    private var failure: (any Error)?

    init(_ segments: [ComposedBody.Segment]) {
        self.segments = segments[...]
        super.init(data: Data())
    }

    deinit { closeFile() }

    override func open() { status = .open }

    override func close() {
        closeFile()
        status = .closed
    }

    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? { failure }
    override var hasBytesAvailable: Bool { status == .open }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        guard status == .open, length > 0 else { return status == .atEnd ? 0 : -1 }
        while true {
            if !bytes.isEmpty {
                let piece = bytes.prefix(length)
                piece.withUnsafeBufferPointer {
                    if let start = $0.baseAddress { buffer.update(from: start, count: $0.count) }
                }
                bytes = bytes.dropFirst(piece.count)
                return piece.count
            }
            if file >= 0 {
                let count = readFile(buffer, length)
                if count != 0 { return count }
                // A piece of line breaks only is not the end.
                if file >= 0 { continue }
            }
            switch segments.popFirst() {
            case nil:
                status = .atEnd
                return 0
            case .bytes(let next): bytes = next[...]
            case .file(let path, let strips, let count):
                self.strips = strips
                rest = count
                file = FileContents.open(path)
                if file < 0 { return fail() }
            }
        }
    }

    /// At the end of what is to be sent the file is closed.
    private func readFile(_ buffer: UnsafeMutablePointer<UInt8>, _ room: Int) -> Int {
        // Bytes that are left out do not count, so not too many are read in any case.
        let length = rest.map { Int(min($0, Int64(room))) } ?? room
        if length == 0 {
            closeFile()
            return 0
        }
        while true {
            #if canImport(Musl)
                let count = Musl.read(file, buffer, length)
            #else
                let count = Glibc.read(file, buffer, length)
            #endif
            if count < 0, errno == EINTR { continue }
            if count < 0 { return fail() }
            if count == 0 {
                closeFile()
                return rest == nil ? 0 : fail(Self.fileTooShort)
            }
            guard strips else {
                rest = rest.map { $0 - Int64(count) }
                return count
            }
            var kept = 0
            for index in 0..<count where ![10, 13, 0].contains(buffer[index]) {
                buffer[kept] = buffer[index]
                kept += 1
            }
            rest = rest.map { $0 - Int64(kept) }
            return kept
        }
    }

    private func fail(_ code: Int32 = errno) -> Int {
        failure = NSError(domain: NSPOSIXErrorDomain, code: Int(code))
        status = .error
        return -1
    }

    private func closeFile() {
        guard file >= 0 else { return }
        #if canImport(Musl)
            _ = Musl.close(file)
        #else
            _ = Glibc.close(file)
        #endif
        file = -1
    }
}
