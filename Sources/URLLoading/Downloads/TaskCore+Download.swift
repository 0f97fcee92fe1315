internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

extension TaskCore {
    /// Of the download as it is now, without stopping it.
    func resumeDataUnderWay(_ handler: @escaping @Sendable (Data?) -> Void) {
        core.loop.post { [self] in
            let point = load?.resumePointUnderWay
            // The file is to be there when the process has ended.
            if let point { UnfinishedFiles.shared.keep(named: point.fileName) }
            handler(point.flatMap { DownloadResumeData($0, isUnderWay: true).encoded })
        }
    }
}

extension SessionCore {
    /// Where downloads are written.
    var downloadFolder: String { configuration.downloadFolder ?? DownloadFolder.path }
}
