/// An errno.
package struct POSIXFailure: Error, Hashable, Sendable {
    package let code: Int32
    package init(_ code: Int32) { self.code = code }
}
