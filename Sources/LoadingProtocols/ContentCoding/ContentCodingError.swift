internal import Glibc
package import LoadingSemantics

/// Why a coded body could not be decoded.
package enum ContentCodingError: Error, Sendable, Equatable {
    /// The body ended before its coding did.
    case truncated
    /// The bytes are invalid in the coding.
    case corrupt
    /// `Content-Encoding` names too many codings.
    case tooManyCodings
    /// The memory for the decoder's state could not be allocated.
    case outOfMemory
    /// The coding's library, with that name, cannot be loaded.
    case libraryMissing(String)
}

extension ContentCodingError {
    /// Where a body is decoded to.
    package enum Destination: Sendable {
        case memory
        /// The file of a download, while the body is received.
        case file
        /// The same, after the whole body was received.
        case wholeFile
    }

    /// The load's error (ENC-10, ERR-7). Invalid bytes are raw data that cannot be decoded; an unusable coding is
    /// content that cannot be decoded. A download has codes of its own. A body that ends too early is a lost
    /// connection, except for a file whose whole body was received.
    package func loadError(_ destination: Destination = .memory) -> LoadError {
        var error: LoadError
        switch (self, destination) {
        case (.tooManyCodings, _): return .cannotDecodeContentData
        case (.libraryMissing(let name), _):
            error = .cannotDecodeContentData
            error.cause = .library(name)
        case (.truncated, .memory), (.truncated, .file): return .networkConnectionLost
        case (_, .memory): error = .cannotDecodeRawData
        case (_, .file): error = .downloadDecodingFailedMidStream
        case (_, .wholeFile): error = .downloadDecodingFailedToComplete
        }
        if self == .outOfMemory { error.cause = .posix(ENOMEM) }
        return error
    }
}
