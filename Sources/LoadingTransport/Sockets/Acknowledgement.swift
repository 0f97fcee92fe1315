/// How much of what was sent the peer has acknowledged, at one moment.
package struct Acknowledgement: Sendable, Equatable {
    /// Bytes that it has acknowledged since the connection began; 0 where that is not known.
    package var taken: UInt64
    /// Bytes that it has not acknowledged yet, on their way or not sent.
    package var outstanding: UInt64

    package init(taken: UInt64, outstanding: UInt64) {
        self.taken = taken
        self.outstanding = outstanding
    }
}
