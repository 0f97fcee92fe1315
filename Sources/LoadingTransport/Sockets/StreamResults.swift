/// The result of a read.
package enum StreamRead {
    case bytes(Int)
    case wouldBlock
    /// The peer closed the stream properly.
    case end
    /// The connection ended without TLS close_notify, so the data may have been truncated by an attacker.
    case truncated
    case failed(StreamFailure)
}

/// The result of a write.
package enum StreamWrite {
    case bytes(Int)
    case wouldBlock
    case failed(StreamFailure)
}

/// The failure of a stream.
package enum StreamFailure: Error, Equatable, Sendable {
    case posix(POSIXFailure)
    case tls(TLSError)

    /// The errno, or 0.
    package var code: Int32 {
        switch self {
        case .posix(let failure): failure.code
        case .tls(let error): error.posix
        }
    }
}

/// An errno.
package struct POSIXFailure: Error, Hashable, Sendable {
    package let code: Int32
    package init(_ code: Int32) { self.code = code }
}

/// What the peer has acknowledged at one moment.
package struct Acknowledgement: Sendable, Equatable {
    /// The bytes acknowledged since the connection was established; 0 if unknown.
    package var acknowledged: UInt64
    /// The bytes not acknowledged yet, in flight or unsent.
    package var outstanding: UInt64

    package init(acknowledged: UInt64, outstanding: UInt64) {
        self.acknowledged = acknowledged
        self.outstanding = outstanding
    }
}
