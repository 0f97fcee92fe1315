import Foundation

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Reads another stream, which must have as many bytes as a `Content-Length` of the command line says. Used by one
/// thread at a time, as every stream.
///
/// The last bytes are passed on only when the source has ended: a server must not take a part of a body for the whole.
final class StreamOfLength: InputStream {
    /// POSIX codes of `streamError`.
    static let tooShort = ENODATA
    static let tooLong = EMSGSIZE

    private let source: InputStream
    private var rest: Int64
    private var status = Stream.Status.notOpen
    private var failure: (any Error)?

    /// - Parameter length: At least 1.
    init(_ source: InputStream, length: Int64) {
        self.source = source
        rest = length
        super.init(data: Data())
    }

    override func open() {
        source.open()
        status = .open
    }

    override func close() {
        source.close()
        status = .closed
    }

    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? { failure ?? source.errorIfFailed }
    override var hasBytesAvailable: Bool { status == .open }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        guard status == .open, length > 0 else { return status == .atEnd ? 0 : -1 }
        let count = source.read(buffer, maxLength: length)
        if count < 0 { return fail(nil) }
        if count == 0 { return rest > 0 ? fail(Self.tooShort) : end() }
        rest -= Int64(count)
        if rest > 0 { return count }
        if rest < 0 { return fail(Self.tooLong) }
        var next: UInt8 = 0
        switch source.read(&next, maxLength: 1) {
        case 0: return count
        case 1...: return fail(Self.tooLong)
        default: return fail(nil)
        }
    }

    private func end() -> Int {
        status = .atEnd
        return 0
    }

    private func fail(_ code: Int32?) -> Int {
        failure = code.map { NSError(domain: NSPOSIXErrorDomain, code: Int($0)) }
        status = .error
        return -1
    }
}
