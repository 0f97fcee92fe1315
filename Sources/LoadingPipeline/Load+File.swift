internal import LoadingEvents
internal import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// Where the body goes, and the file that it is written to.
extension Load: FileWriterObserver {
    func openDestination() {
        switch destination {
        case .pieces: break
        case .whole:
            collector = BodyCollector()
            collector?.expect(response?.expectedLength ?? -1)
        // Another part goes to the same file.
        case .file where writer != nil, .stopped where writer != nil: break
        case .file(let place): open(place)
        case .stopped(let download):
            open(.replacement(inFolder: BodyDestination.folder(of: download.path), of: download.path))
        }
    }

    func open(_ place: FileWriter.Place) {
        decoding.writesFile = true
        let writer = FileWriter(place, on: environment.loop)
        writer.observer = self
        self.writer = writer
    }

    package func fileWriterWrote(_ count: Int64, hasRoom: Bool) {
        if hasEnded { return }
        client?.load(self, hasWritten: count)
        if hasRoom { resumeReading() }
    }

    package func fileWriterClosed(_ outcome: Result<String, FileWriter.Failure>) {
        writer = nil
        switch (outcome, state) {
        case (_, .ended): break
        case (.success(let path), .failing(let error)): tellEnd(error, .stopped(path: path, resumePoint(of: path)))
        case (.failure, .failing(let error)): tellEnd(error, .nothing)
        case (.failure(.opening), _) where resumption?.mayRestart == true: beginAnew()
        case (.success(let path), _):
            record(.responseEnded(bytes: wireBytes, decoded: deliveredBytes))
            stop()
            tellEnd(nil, .file(path: path))
        case (.failure(let failure), _):
            stop()
            tellEnd(LoadError(failure), .nothing)
        }
    }

    /// The file that the body should go on in is gone, or has less than was said: all of it is fetched again.
    private func beginAnew() {
        guard let folder = destination.folder else { return }
        exchange?.cancel()
        exchange = nil
        destination = .file(.newFile(inFolder: folder))
        (isClosingFile, isFull, deliveredBytes) = (false, false, 0)
        resumption?.restart(&request)
        beginFetch(.retry)
    }

    package var resumePointUnderWay: DownloadResumePoint? {
        guard case .exchanging = state else { return nil }
        return writer?.path.flatMap { resumePoint(of: $0) }
    }

    /// Where another download may go on from this one, all of which is in the file.
    func resumePoint(of path: String) -> DownloadResumePoint? {
        guard let response else { return nil }
        return DownloadResumePoint(
            PartialDownload(
                method: request.method, originalURL: resumption?.download.point.originalURL ?? originalURL,
                url: request.urlText, requestFields: resumption?.download.point.requestFields ?? request.fields,
                status: response.head.status, responseFields: response.head.fields,
                bytesReceived: (response.resumedOffset ?? 0) + deliveredBytes,
                fileName: FileWriter.name(of: path)))
    }
}

extension LoadError {
    init(_ failure: FileWriter.Failure) {
        self =
            switch failure {
            case .creating(let failure): .cannotCreateFile(failure.code)
            case .opening(let failure): .cannotOpenFile(failure.code)
            case .writing(let failure): .cannotWriteToFile(failure.code)
            case .closing(let failure): .cannotCloseFile(failure.code)
            }
    }
}
