internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

extension TaskCore {
    /// Passes the resume data of the running download, without stopping it.
    func resumeDataUnderWay(_ handler: @escaping @Sendable (Data?) -> Void) {
        loop.post { [self] in
            let point = load?.resumePointUnderWay
            // The file must exist after the process has ended.
            if let point { UnfinishedFiles.shared.keep(named: point.fileName) }
            let request = currentRequest ?? originalRequest
            handler(point.flatMap { DownloadResumeData($0, of: request, isUnderWay: true).encoded })
        }
    }
}

extension SessionCore {
    /// The folder for downloaded files.
    var downloadFolder: String { configuration.downloadFolder ?? DownloadFolder.path }
}
