internal import LoadingProtocols
internal import LoadingSemantics

extension LoadError {
    /// What a body that can't be decoded means to a load (ENC-10).
    init(_ error: ContentCodingError) {
        switch error {
        case .truncated: self = .networkConnectionLost
        case .corrupt: self = .cannotDecodeRawData("the content coding is corrupt")
        case .tooManyCodings: self = .cannotDecodeRawData("too many content codings")
        case .outOfMemory: self = .outOfMemory
        }
    }
}
