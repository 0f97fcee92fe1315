internal import BackgroundTransfers
internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingStorage
internal import LoadingTransport

/// The files that a request of a background task needs, on their way into the service's folder: the body, which is
/// copied because programs remove it (BG-2), or the part of a stopped download.
struct RequestFiles: Sendable {
    private enum Content: Sendable {
        /// Open, so that the file may be removed meanwhile.
        case file(PrivateCopy.Original)
        case data(Data)
        case stopped(TransferResumption.Download)
    }

    private let description: TransferDescription
    private let content: Content
    /// Whether the service does not ask in which boot of the machine the file was written.
    private let mustBeSynchronized: Bool

    /// Nil if the task needs no file. Throws the error with which it fails.
    init?(of task: TaskCore, _ description: TransferDescription) throws(LoadError) {
        self.description = description
        mustBeSynchronized = false
        if case .upload(let content, _) = task.kind {
            switch content {
            case .file(let url): self.content = try Self.open(url)
            // Of resume data.
            case .data(let data): self.content = .data(data)
            case .stream: throw .requestBodyStreamExhausted
            case .pipe: throw .cannotReadFile(EINVAL)
            }
        } else if case .download(let part)? = description.request.resumption {
            content = .stopped(part)
        } else {
            guard let body = try Self.body(of: task.currentRequest ?? task.originalRequest) else { return nil }
            content = body
        }
    }

    /// The body of the request that the delegate has chosen for a delayed download (BG-17). Nil if it has none.
    init?(bodyOf request: URLRequest, _ description: TransferDescription) throws(LoadError) {
        guard let body = try Self.body(of: request) else { return nil }
        self.description = description
        content = body
        mustBeSynchronized = true
    }

    private static func body(of request: URLRequest) throws(LoadError) -> Content? {
        switch request.body {
        case .none: return nil
        case .data(let data), .streamOfData(let data): return data.isEmpty ? nil : .data(data)
        case .streamOfFile(let url): return try open(url)
        // The stream ends with the program.
        case .stream: throw .requestBodyStreamExhausted
        }
    }

    private static func open(_ url: URL) throws(LoadError) -> Content {
        do throws(POSIXFailure) { return .file(try PrivateCopy.Original(path: url.isFileURL ? url.path : "")) } catch {
            throw .cannotReadFile(error.code)
        }
    }

    /// The description with the files in the folder; nil if that takes time.
    func prepareAtOnce(in folder: UploadFolder) -> TransferDescription? {
        // The service could not determine whether the machine has started again since, so the file must be
        // synchronized.
        if Boot.identifier.isEmpty { return nil }
        switch content {
        case .file(let original):
            let path = Self.newPath(in: folder)
            return PrivateCopy.makeAtOnce(original, at: path) ? description.sending(path, boot: Boot.identifier) : nil
        case .data, .stopped: return nil
        }
    }

    /// May wait for the disk.
    ///
    /// - Parameter mayMove: Called before the part of a stopped download is moved. With false it stays where it is.
    func prepare(in folder: UploadFolder, mayMove: () -> Bool) -> Result<TransferDescription, LoadError> {
        if !mustBeSynchronized, let ready = prepareAtOnce(in: folder) { return .success(ready) }
        do throws(POSIXFailure) {
            let path = Self.newPath(in: folder)
            switch content {
            case .file(let original): try PrivateCopy.make(original, at: path)
            case .data(let data): try PrivateCopy.make(data, at: path)
            case .stopped(var part):
                guard mayMove() else { return .success(description) }
                // Not the name of the part: the service may still have to remove one with that name, of an earlier
                // task.
                let path = folder.newPath(FileWriter.newName())
                // Without its file the download starts over.
                guard (try? PrivateCopy.move(part.path, to: path)) != nil else { return .success(description.anew) }
                UnfinishedFiles.shared.keep(part.path)
                // The service counts on what the file has, also after a power cut.
                guard (try? SynchronizedFile.synchronizeWithName(path)) != nil else {
                    unlink(path)
                    return .success(description.anew)
                }
                part.path = path
                return .success(description.resuming(part))
            }
            // Here, because the service would wait for it with all other changes. It reports a failure.
            let isSynchronized = (try? SynchronizedFile.synchronizeWithName(path)) != nil
            if mustBeSynchronized, !isSynchronized {
                unlink(path)
                throw POSIXFailure(EIO)
            }
            return .success(description.sending(path, boot: isSynchronized ? nil : Boot.identifier))
        } catch {
            return .failure(.cannotWriteToFile(error.code))
        }
    }

    private static func newPath(in folder: UploadFolder) -> String { folder.newPath("upload-\(UUID().uuidString)") }
}

extension TransferDescription {
    /// - Parameter boot: The present one, unless the file is synchronized.
    fileprivate func sending(_ path: String, boot: String?) -> TransferDescription {
        var copy = self
        copy.request.bodyFile = path
        copy.bodyBoot = boot
        return copy
    }

    fileprivate func resuming(_ part: TransferResumption.Download) -> TransferDescription {
        var copy = self
        copy.request.resumption = .download(part)
        return copy
    }

    fileprivate var anew: TransferDescription {
        var copy = self
        copy.request.resumption = nil
        return copy
    }
}

/// The parts of stopped background downloads, for their resume data. Beside the files of the service, so that taking
/// one needs no copy.
enum ResumableFiles {
    /// Of the user's service.
    static let folder = ServicePlace().state.folder("stopped").path

    /// May wait for the disk. False if the file is gone.
    static func take(_ path: String, to other: String) -> Bool {
        guard (try? ServicePlace().state.folder("stopped").make()) != nil else { return false }
        UnfinishedFiles.removeOld(in: folder)
        UnfinishedFiles.shared.add(other)
        do throws(POSIXFailure) {
            try PrivateCopy.move(path, to: other)
            return true
        } catch {
            // A program that was killed before it had acknowledged the end has moved it.
            if error.code == ENOENT, access(other, F_OK) == 0 { return true }
        }
        UnfinishedFiles.shared.keep(other)
        return false
    }
}
