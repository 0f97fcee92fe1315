internal import CLoadingLinux
internal import Glibc
internal import LoadingTransport

/// The address of a UNIX socket, as `connect` and `bind` take it.
///
/// An address has room for 107 bytes. A longer path is reached through a descriptor of its folder.
struct UNIXAddress: ~Copyable {
    private let bytes: [UInt8]
    private let folder: Int32

    private static let largestPath = 107

    init(_ path: String) throws(POSIXFailure) { (bytes, folder) = try Self.parts(of: path) }

    private static func parts(of path: String) throws(POSIXFailure) -> (bytes: [UInt8], folder: Int32) {
        if path.utf8.count <= largestPath { return (bytes(path), -1) }
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        let folder = cll_open_place(String(path[..<slash]))
        guard folder >= 0 else { throw POSIXFailure(cll_errno()) }
        let short = "/proc/self/fd/\(folder)" + path[slash...]
        if short.utf8.count <= largestPath { return (bytes(short), folder) }
        close(folder)
        throw POSIXFailure(ENAMETOOLONG)
    }

    deinit { if folder >= 0 { close(folder) } }

    private static func bytes(_ path: String) -> [UInt8] {
        withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) } + Array(path.utf8) + [0]
    }

    /// - Parameter body: Receives the address and its length.
    func withAddress<Result>(_ body: (UnsafeRawPointer, socklen_t) -> Result) -> Result? {
        bytes.withUnsafeBytes { bytes in bytes.baseAddress.map { body($0, socklen_t(bytes.count)) } }
    }
}
