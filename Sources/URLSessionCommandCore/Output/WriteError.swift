#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A write that failed.
package struct WriteError: Error, Equatable, Sendable {
    package var path: String
    package var code: Int32

    package init(path: String, code: Int32) {
        self.path = path
        self.code = code
    }

    package var reason: String { String(cString: strerror(code)) }
    package var isBrokenPipe: Bool { code == EPIPE }
}
