internal import Glibc
package import LoadingSemantics

/// Why a coded body could not be decoded.
package enum ContentCodingError: Error, Sendable, Equatable {
    /// The body ended before its coding did.
    case truncated
    /// The bytes are not what the coding allows.
    case corrupt
    /// `Content-Encoding` names more codings than any honest server stacks.
    case tooManyCodings
    /// There was no memory for the decoder's state.
    case outOfMemory
}

extension ContentCodingError {
    /// Where a body is decoded to.
    package enum Destination: Sendable {
        case memory
        /// The file of a download, while the body comes.
        case file
        /// The same when all of the body has come.
        case wholeFile
    }

    /// What it means to a load (ENC-10, ERR-7). A body that is not what its coding allows is raw data that cannot be decoded;
    /// one whose coding itself cannot be undone is content that cannot be decoded. A download has codes of its own. A body
    /// that is cut short is a lost connection, unless a file was to be made of it and all of it has come.
    package func loadError(_ destination: Destination = .memory) -> LoadError {
        var error: LoadError
        switch (self, destination) {
        case (.tooManyCodings, _): return .cannotDecodeContentData
        case (.truncated, .memory), (.truncated, .file): return .networkConnectionLost
        case (_, .memory): error = .cannotDecodeRawData
        case (_, .file): error = .downloadDecodingFailedMidStream
        case (_, .wholeFile): error = .downloadDecodingFailedToComplete
        }
        if self == .outOfMemory { error.cause = .posix(ENOMEM) }
        return error
    }
}
