internal import LoadingPipeline

extension TransferDescription {
    /// The path of a body that a disk does not write within the time of a commit. Many small bodies are synchronized
    /// with it.
    var largeBody: String? {
        let length = request.bodyFile.flatMap(FileKeeper.length) ?? 0
        return length >= 8 << 20 ? request.bodyFile : nil
    }

    /// Whether the machine may have started again since the body was written.
    var mayHaveTornBody: Bool { bodyBoot.map { !Boot.areSame($0, Boot.identifier) } ?? false }
}

extension ServiceCommand {
    var hasLargeBody: Bool {
        if case .create(let description) = self { description.largeBody != nil } else { false }
    }
}
