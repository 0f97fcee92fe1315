/// How much a server may say on the control connection. Beyond it the load fails.
package struct FTPLimits: Sendable {
    /// Bytes of one line.
    package var maximumLineLength = 4096
    /// Lines of one reply: a welcome may be long.
    package var maximumLineCount = 1000
    /// Preliminary replies (1xx) in one load.
    package var maximumPreliminaryCount = 32

    package init() {}
}
